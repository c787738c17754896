// Limiters with an injected time, so that a log can be filled with distinct times and expire on
// demand.

import {
  fixedWindow,
  type Policy,
  RateLimiter,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import type { RedisLike } from '@weir/core/store'
import { type FakeClock, fakeClock } from '@weir/core/testing'
import { BUCKET, COUNTER, FIXED, LOG, SLIDING, WEIR } from './weir.js'

export const WINDOW_MS = 600_000
/** A long deadline: filling logs keeps the machine busy, and nothing here depends on it. */
const PATIENT_MS = 60_000

const POLICIES: Readonly<Record<string, (limit: number) => Policy>> = {
  [BUCKET]: (limit) => tokenBucket({ capacity: limit, refill: limit, every: WINDOW_MS }),
  [FIXED]: (limit) => fixedWindow({ limit, window: WINDOW_MS }),
  [COUNTER]: (limit) => slidingCounter({ limit, window: WINDOW_MS }),
  [SLIDING]: (limit) => slidingWindow({ limit, window: WINDOW_MS }),
  [LOG]: (limit) => slidingLog({ limit, window: WINDOW_MS }),
}

export interface Limited {
  /** A row of weir.ts. */
  readonly subject: string
  readonly limiter: RateLimiter
  readonly clock: FakeClock
  readonly limit: number
  close(): Promise<void>
}

/** The prefix separates its counters from those of the same subject and limit. */
export function openLimited(
  client: RedisLike,
  subject: string,
  limit: number,
  prefix = 'limits',
): Limited {
  const clock = fakeClock(Date.now())
  const store = redisStore(client, { prefix, clock, deadlineMs: PATIENT_MS })
  const policy = (POLICIES[subject] as (limit: number) => Policy)(limit)
  const limiter = new RateLimiter({ name: `l${WEIR.indexOf(subject)}`, store, policy })
  return { subject, limiter, clock, limit, close: () => store.close() }
}

/**
 * Fills each key's log with times that are as far apart as the window allows. Other kernels have a
 * state of the same size however many units are taken; of theirs half is taken, since full ones
 * deny for a while.
 */
export async function fill(
  { subject, limiter, clock, limit }: Limited,
  keys: readonly string[],
): Promise<void> {
  const units = subject === LOG ? limit : limit / 2
  const steps = subject === LOG ? units : Math.min(units, 100)
  let waiting: Promise<unknown>[] = []
  for (let step = 0; step < steps; step += 1) {
    clock.advance(WINDOW_MS / steps)
    waiting.push(...keys.map((key) => limiter.penalty(key, { cost: Math.floor(units / steps) })))
    if (waiting.length < 500) continue
    await Promise.all(waiting)
    waiting = []
  }
  await Promise.all(waiting)
}
