// The child process: holds slots, in several parallel sequences, and counts in Redis how many hold
// one at the same time; or holds estimates until it is killed; or spends, and counts crossings.

import type { Redis } from 'ioredis'
import { budget, concurrency, fixedWindow, RateLimiter } from '../../../src/index.js'
import { randomFrom } from '../../virtual-time.js'
import { patientOptions, patientStore } from '../patient.js'

export interface HoldJob {
  readonly port: number
  /** A part of every key, so that each job has separate keys. */
  readonly prefix: string
  readonly limit: number
  readonly holdMs: number
  /** The number of parallel sequences. */
  readonly lines: number
  /** The number of holds in each sequence. */
  readonly holds: number
  /** The longest time of a hold, in ms; the shortest is half as long. */
  readonly workMs: number
}

export interface HoldReport {
  /** The number of holds that were granted. */
  readonly granted: number
  /** The most holders of a slot at the same time, in all processes. */
  readonly most: number
}

/** Takes this many estimates of one unit, settles some of them to 2 units each, and waits to be
 *  killed. */
export interface StreamsJob extends Pick<HoldJob, 'port' | 'prefix' | 'limit' | 'holdMs'> {
  readonly streams: number
  readonly settled: number
  /** The time of its clock, in us, when it begins; it goes on by 1 ms for each estimate. */
  readonly nowUs: number
}

/** Makes this many decisions, settles and refunds most of them, and takes penalties. */
export interface SpendJob extends Pick<HoldJob, 'port' | 'prefix'> {
  readonly decisions: number
  readonly seed: number
}

/** How often this process was told of each crossing: of a policy, a key and a share. */
export type SpendReport = Readonly<Record<string, number>>

export function serve(Client: new (port: number, options: object) => Redis): void {
  process.on('message', (job: HoldJob | StreamsJob | SpendJob) => {
    const report =
      'streams' in job
        ? stream(Client, job)
        : 'decisions' in job
          ? spend(Client, job)
          : work(Client, job)
    void report.then((done) => process.send?.(done))
  })
  process.send?.('ready')
}

const DAY = { notifyAt: [0.5, 0.8, 1], limit: 400 }
const SPENT = [
  budget({ name: 'held', holdTimeout: '1d', ...DAY }),
  fixedWindow({ name: 'daily', window: '1d', ...DAY }),
  { policy: budget({ name: 'all', limit: 3_000, notifyAt: [0.9] }), key: 'everybody' },
]

export async function spend(
  Client: new (port: number, options: object) => Redis,
  { port, prefix, decisions, seed }: SpendJob,
): Promise<SpendReport> {
  const client = new Client(port, patientOptions)
  await new Promise((resolve) => client.once('ready', resolve))
  const store = patientStore(client, { prefix })
  const told: Record<string, number> = {}
  const limiter = new RateLimiter({
    name: 'spend',
    store,
    policy: SPENT,
    shared: true,
    onCrossing({ policy, key, share }) {
      const id = `${policy.name} ${key} ${share}`
      told[id] = (told[id] ?? 0) + 1
    },
  })
  const random = randomFrom(seed)
  const below = (most: number): number => Math.floor(most * random())
  let left = decisions
  async function line(): Promise<void> {
    while (left > 0) {
      const key = `k${below(6)}`
      // Equal requests of one turn are decided as one.
      const equal = below(3) === 0 ? 5 : 1
      left -= equal
      const cost = equal > 1 ? 1 : { held: 1 + below(20), daily: below(12), all: below(9) }
      const all = await Promise.all(
        Array.from({ length: equal }, () => limiter.consume(key, { cost })),
      )
      for (const decision of all) {
        const lot = below(10)
        if (!decision.allowed) {
          const { name } = decision.policy
          await limiter.refund(key, { cost: { [name]: below(300) } })
        } else if (lot < 5) await limiter.settle(decision, { held: below(40), daily: below(12) })
        else if (lot < 8) await limiter.refund(decision)
      }
      if (below(20) === 0) await limiter.penalty(key, { cost: below(30) })
      if (below(500) === 0) await limiter.reset(key)
    }
  }
  await Promise.all(Array.from({ length: 8 }, line))
  await store.close()
  client.disconnect()
  return told
}

async function stream(
  Client: new (port: number, options: object) => Redis,
  { port, prefix, limit, holdMs, streams, settled, nowUs }: StreamsJob,
): Promise<'open'> {
  const client = new Client(port, patientOptions)
  await new Promise((resolve) => client.once('ready', resolve))
  let us = nowUs
  const store = patientStore(client, { prefix, clock: { nowUs: () => us } })
  const policy = budget({ name: 'units', limit, holdTimeout: holdMs })
  const limiter = new RateLimiter({ name: 'streams', store, policy })
  for (let i = 0; i < streams; i += 1) {
    us += 1_000
    const decision = await limiter.consume('k')
    if (i < settled) await limiter.settle(decision, 2)
  }
  return 'open'
}

async function work(
  Client: new (port: number, options: object) => Redis,
  { port, prefix, limit, holdMs, lines, holds, workMs }: HoldJob,
): Promise<HoldReport> {
  const client = new Client(port, patientOptions)
  await new Promise((resolve) => client.once('ready', resolve))
  const store = patientStore(client, { prefix })
  const policy = concurrency({ name: 'open', limit, holdTimeout: holdMs })
  const limiter = new RateLimiter({ name: 'holders', store, policy })
  const counter = `${prefix}in-progress`
  let granted = 0
  let most = 0

  async function line(): Promise<void> {
    for (let i = 0; i < holds; i += 1) {
      await limiter.hold(
        'k',
        async () => {
          granted += 1
          most = Math.max(most, await client.incr(counter))
          await new Promise((resolve) => setTimeout(resolve, (workMs / 2) * (1 + Math.random())))
          await client.decr(counter)
        },
        { timeout: '60s' },
      )
    }
  }

  await Promise.all(Array.from({ length: lines }, line))
  limiter.close()
  await store.close()
  client.disconnect()
  return { granted, most }
}
