// The child process: waits for turns, and reports when each was granted, by Redis's clock.

import type { Redis } from 'ioredis'
import { RateLimiter } from '../../../src/limiter/limiter.js'
import type { StoreResult } from '../../../src/store.js'
import { patientOptions, patientStore } from '../../redis/patient.js'
import { QUEUE, WINDOW } from './policies.js'

export interface WaitJob {
  readonly port: number
  readonly policy: 'queue' | 'window'
  readonly key: string
  readonly waiters: number
  /** How many of these leave as soon as all turns are reserved. */
  readonly leavers: number
}

/** Sent when all turns are reserved, or requested. */
export const QUEUED = 'queued'

/** A request that passed. */
export interface Passed {
  /** When it asked, when its turn was, and when it passed, in ms of Redis's clock. */
  readonly askedMs: number
  readonly turnMs: number
  readonly atMs: number
}

export interface WaitReport {
  readonly passed: readonly Passed[]
  readonly left: number
  readonly errors: readonly string[]
}

export function serve(Client: new (port: number, options: typeof patientOptions) => Redis): void {
  let client: Redis | undefined
  process.on('message', async (job: WaitJob) => {
    if (client === undefined) {
      client = new Client(job.port, patientOptions)
      client.on('error', () => {})
      await new Promise((resolve) => client?.once('ready', resolve))
    }
    process.send?.(await wait(client, job))
  })
  process.send?.('ready')
}

/**
 * The most by which Redis's clock can be ahead of this process's, so that no request seems earlier
 * than it was.
 */
async function aheadMs(client: Redis): Promise<number> {
  let most = Number.POSITIVE_INFINITY
  for (let i = 0; i < 20; i += 1) {
    const askedMs = performance.now()
    const [seconds, us] = await client.time()
    most = Math.min(most, Number(seconds) * 1_000 + Number(us) / 1_000 - askedMs)
  }
  return most
}

async function wait(client: Redis, job: WaitJob): Promise<WaitReport> {
  const { policy, key, waiters, leavers } = job
  const store = patientStore(client, { prefix: 'waiters' })
  const limiter = new RateLimiter({
    name: 'waiters',
    store,
    policy: policy === 'queue' ? QUEUE : WINDOW,
    shared: true,
  })
  const ahead = await aheadMs(client)
  const passed: Passed[] = []
  const errors: string[] = []
  let left = 0
  const controllers = Array.from({ length: waiters }, () => new AbortController())
  const all = controllers.map(async ({ signal }) => {
    try {
      const decision = await limiter.wait(key, { timeout: '20s', signal })
      const atMs = performance.now() + ahead
      if (!decision.allowed) throw new Error(`denied, again in ${decision.retryAfterMs} ms`)
      const { untilUs, nowUs } = (decision.receipt as unknown as { result: StoreResult }).result
      const turnMs = (untilUs[0] as number) / 1_000 - QUEUE.windowMs
      passed.push({ askedMs: nowUs / 1_000, turnMs, atMs })
    } catch (error) {
      if (signal.aborted) left += 1
      else errors.push(String(error))
    }
  })
  // Replies come in the order of requests, so this one comes after all turns are reserved.
  await limiter.peek(key)
  process.send?.(QUEUED)
  const each = Math.max(1, Math.floor(waiters / Math.max(1, leavers)))
  for (let i = 0; i < leavers; i += 1) controllers[waiters - 1 - i * each]?.abort()
  await Promise.all(all)
  return { passed, left, errors }
}
