// A process with one application. For each message, it measures what a request costs.

import { strict as assert } from 'node:assert'
import type { Turn } from '../rounds.js'
import { BARE, honoApp, honoSubjects } from './hono.js'
import { CLIENTS } from './job.js'

export interface HonoJob {
  readonly name: string
  readonly port: number | undefined
}

const { name, port } = JSON.parse(process.argv[2] as string) as HonoJob
const subject = honoSubjects.find((each) => each.name === name)
assert.ok(subject, `there is no application with ${name}`)

const LIMIT = 1_000_000
/** The number of requests in flight. */
const SLICE = 64
const addresses = Array.from({ length: CLIENTS }, (_, i) => `10.1.${i >> 8}.${i & 255}`)
let client = 0

async function turnOf(send: (address: string) => Promise<number>, forMs: number): Promise<Turn> {
  let requests = 0
  const before = process.cpuUsage()
  for (const end = performance.now() + forMs; performance.now() < end; ) {
    const sent = Array.from({ length: SLICE }, () => {
      client = (client + 1) % CLIENTS
      return send(addresses[client] as string)
    })
    assert.ok((await Promise.all(sent)).every((status) => status === 200))
    requests += SLICE
  }
  const { user, system } = process.cpuUsage(before)
  return { us: (user + system) / requests }
}

/** With a limit of 10, 10 of 16 requests of a client pass. */
async function checkLimit(): Promise<void> {
  const send = honoApp(await (subject as NonNullable<typeof subject>).open(10, port))
  const statuses: number[] = []
  for (let i = 0; i < 16; i += 1) statuses.push(await send(`10.9.9.${process.pid % 250}`))
  assert.deepEqual(statuses, [...Array(10).fill(200), ...Array(6).fill(429)], name)
}

if (name !== BARE) await checkLimit()
const send = honoApp(await subject.open(LIMIT, port))
process.on('message', async (forMs: number) => process.send?.(await turnOf(send, forMs)))
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
