// A process with one application of a framework. For each message, it measures what a request
// costs.

import { strict as assert } from 'node:assert'
import type { Turn } from '../rounds.js'
import { applications, BARE, type Send } from './frameworks.js'
import { CLIENTS } from './job.js'

export interface FrameworkJob {
  readonly framework: string
  readonly name: string
  readonly port: number | undefined
}

const { framework, name, port } = JSON.parse(process.argv[2] as string) as FrameworkJob
const mine = applications.find((each) => each.framework === framework && each.name === name)
if (mine === undefined) throw new Error(`there is no ${framework} with ${name}`)

const LIMIT = 1_000_000
/** The number of requests in flight. */
const SLICE = 64
/** V8 has optimized the code by then, however busy the machine is. */
const WARM_UP = 1_000
const addresses = Array.from({ length: CLIENTS }, (_, i) => `10.1.${i >> 8}.${i & 255}`)
let client = 0

/** Sends as many requests as are in flight, in one turn of the event loop. */
async function slice(send: Send): Promise<void> {
  const sent = Array.from({ length: SLICE }, () => {
    client = (client + 1) % CLIENTS
    return send(addresses[client] as string)
  })
  assert.ok((await Promise.all(sent)).every((status) => status === 200))
}

/** One after the other: @fastify/rate-limit refuses all of several that come in one turn. */
async function checkLimit(send: Send): Promise<void> {
  const statuses: number[] = []
  for (let i = 0; i < 16; i += 1) statuses.push(await send(`10.9.9.${process.pid % 250}`))
  assert.deepEqual(statuses, [...Array(10).fill(200), ...Array(6).fill(429)], name)
}

async function turnOf(send: Send, forMs: number): Promise<Turn> {
  let requests = 0
  const before = process.cpuUsage()
  for (const end = performance.now() + forMs; performance.now() < end; requests += SLICE)
    await slice(send)
  const { user, system } = process.cpuUsage(before)
  return { us: (user + system) / requests }
}

if (name !== BARE) await checkLimit(await mine.open(10, port))
const send = await mine.open(LIMIT, port)
for (let i = 0; i < WARM_UP; i += 1) await slice(send)
process.on('message', async (forMs: number) => process.send?.(await turnOf(send, forMs)))
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
