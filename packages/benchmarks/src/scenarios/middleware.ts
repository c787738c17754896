// What a middleware adds to a request, without a server around it.

import { strict as assert } from 'node:assert'
import type { Goal } from '../goals.js'
import {
  ERL_8,
  type Exchange,
  exchange,
  type Middleware,
  middleware,
  NOTHING,
  renew,
  WEIR,
  WEIR_BUCKET,
} from '../http/middleware.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import { median } from '../statistics.js'
import type { Metric, Table } from '../table.js'

const LIMIT = 1_000_000
const CLIENTS = 10_000
/** Requests that are measured together. */
const SLICE = 64

const metrics: readonly Metric[] = [
  {
    ...{ id: 'us', title: 'CPU, us', digits: 2, better: 'less', base: ERL_8 },
    expected: {
      'express-rate-limit, no headers': 0.37,
      'express-rate-limit, default headers': 0.7,
      'rate-limiter-flexible, one header': 0.16,
      'koa-ratelimit': 0.41,
    },
  },
]

const table = 'middleware'
const goals: readonly Goal[] = [
  { number: 8, table, metric: 'us', what: 'us of a request', of: [WEIR, WEIR_BUCKET], atMost: 0.9 },
  {
    number: 8,
    table,
    metric: 'us',
    what: 'CPU of a request',
    of: [WEIR, WEIR_BUCKET],
    per: ERL_8,
    atMost: 0.25,
  },
]

export const middlewareAlone: Scenario = {
  id: 'middleware',
  title: 'Middleware alone',
  about: `CPU time of calling the middleware until it calls next(), memory store, ${CLIENTS} client addresses in turn, all allowed; what next() alone takes in the loop is subtracted. Requests are objects without a socket, responses are Node's. "${WEIR}" is rateLimit({ limit, window }) and its default headers, draft-8.`,
  goals,
  measure,
}

interface Opened extends Middleware {
  readonly handle: ReturnType<Middleware['open']>
}

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  for (const each of middleware) await checkLimit(each)
  const opened = middleware.map((each) => ({ ...each, handle: each.open(LIMIT) }))
  await inRounds(opened, 2, (each) => turnOf(each, turnMs))
  const samples = await inRounds(opened, rounds, (each) => turnOf(each, turnMs))
  const nothing = median(samples[middleware.findIndex(({ name }) => name === NOTHING)]?.us ?? [])
  const rows = middleware.map(({ name, kind }, i) => {
    return { subject: name, kind, samples: { us: (samples[i]?.us ?? []).map((us) => us - nothing) } }
  })
  return [{ id: table, title: 'What a request costs', metrics, rows: rows.slice(1) }]
}

const addresses = Array.from({ length: CLIENTS }, (_, i) => `10.1.${i >> 8}.${i & 255}`)
let client = 0

function nextAddress(): string {
  client = (client + 1) % CLIENTS
  return addresses[client] as string
}

async function turnOf({ handle }: Opened, forMs: number): Promise<Turn> {
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

function pass(handle: Opened['handle'], exchanges: readonly Exchange[]): Promise<void> {
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

/** At a limit of 10, 10 of 16 requests of a client get to the next handler, and the others are told 429. */
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
