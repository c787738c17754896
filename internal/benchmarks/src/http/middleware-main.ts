// A process with one middleware, as in an application, since V8 optimizes code for everything that
// passes through it. For each message, it measures what a request costs.

import { strict as assert } from 'node:assert'
import type { Turn } from '../rounds.js'
import { CLIENTS } from './job.js'
import { type Exchange, exchange, type Middleware, middleware, renew } from './middleware.js'

export interface MiddlewareJob {
  readonly name: string
}

const LIMIT = 1_000_000
/** The number of requests that are measured together. */
const SLICE = 64

type Handle = ReturnType<Middleware['open']>

const addresses = Array.from({ length: CLIENTS }, (_, i) => `10.1.${i >> 8}.${i & 255}`)
let client = 0

function nextAddress(): string {
  client = (client + 1) % CLIENTS
  return addresses[client] as string
}

async function turnOf(handle: Handle, forMs: number): Promise<Turn> {
  let cpuUs = 0
  let requests = 0
  const exchanges = Array.from({ length: SLICE }, exchange)
  for (const end = performance.now() + forMs; performance.now() < end; ) {
    for (const each of exchanges) renew(each, nextAddress())
    const before = process.cpuUsage()
    await pass(handle, exchanges)
    const { user, system } = process.cpuUsage(before)
    cpuUs += user + system
    requests += SLICE
  }
  return { us: cpuUs / requests }
}

function pass(handle: Handle, exchanges: readonly Exchange[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let passed = 0
    const next = async (error?: unknown): Promise<void> => {
      if (error !== undefined) reject(error)
      passed += 1
      if (passed === exchanges.length) resolve()
    }
    for (const each of exchanges) void handle(each, next)
  })
}

/**
 * Checks that, with a limit of 10, 10 of 16 requests of a client reach the next handler, and the
 * others get 429.
 */
async function checkLimit({ name, kind, open }: Middleware): Promise<void> {
  if (kind === 'floor') return
  const handle = open(10)
  let passed = 0
  for (let i = 0; i < 16; i += 1) {
    const each = exchange()
    renew(each, '10.9.9.9')
    let went = false
    await handle(each, async (error) => {
      if (error !== undefined) throw error
      went = true
    })
    if (went) passed += 1
    else
      assert.ok(
        [each.res, each.ctx.res].some(({ statusCode }) => statusCode === 429),
        `${name} sent no 429`,
      )
  }
  assert.equal(passed, 10, `${name} let ${passed} of 16 requests pass at a limit of 10`)
}

const { name } = JSON.parse(process.argv[2] as string) as MiddlewareJob
const mine = middleware.find((each) => each.name === name)
if (mine === undefined) throw new Error(`there is no middleware ${name}`)
await checkLimit(mine)
const handle = mine.open(LIMIT)
process.on('message', async (forMs: number) => process.send?.(await turnOf(handle, forMs)))
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
