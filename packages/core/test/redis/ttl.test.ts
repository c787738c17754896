// Every key expires: each write leaves a TTL that is longer than the state lives, but not by much,
// and a TTL that was lost is restored.

import { describe, expect, test } from 'vitest'
import { tokenBucket } from '../../src/algorithms/bucket/policies.js'
import { fixedWindow } from '../../src/algorithms/fixed-window/policies.js'
import { counterOf, type Policy } from '../../src/algorithms/policy.js'
import { slidingCounter } from '../../src/algorithms/sliding-counter/policies.js'
import { slidingLog, slidingWindow } from '../../src/algorithms/sliding-log/policies.js'
import { RateLimiter } from '../../src/limiter/limiter.js'
import { fakeClock } from '../../src/testing/clock.js'
import { singleClient } from './clients.js'
import { patientStore } from './patient.js'

const WINDOW_MS = 60_000
const START_MS = Date.UTC(2026, 5, 1)
/**
 * What is added under an injected clock, since real time must not delete a key whose time has not
 * come.
 */
const SLACK_MS = 600_000
const limit = 5
/** A bucket writes its TTL when its TAT enters another cell of this length. */
const CELL_MS = 8_192
/** A log writes it when its last tick enters another cell of this length. */
const LOG_CELL_MS = WINDOW_MS / 8 + 1_000
/** Without a cell, a TTL is written once a window. */
const CELLS_MS: Readonly<Record<string, number>> = {
  'token-bucket': CELL_MS,
  'sliding-log': LOG_CELL_MS,
  'sliding-window': LOG_CELL_MS,
}
const policies: readonly Policy[] = [
  tokenBucket({ name: 'p', capacity: 100, refill: 100, every: WINDOW_MS }),
  fixedWindow({ name: 'p', limit, window: WINDOW_MS }),
  slidingLog({ name: 'p', limit, window: WINDOW_MS }),
  slidingWindow({ name: 'p', limit: 100, window: WINDOW_MS, parts: 10 }),
  slidingCounter({ name: 'p', limit, window: WINDOW_MS }),
]
/** The same with a limit that is never reached. */
const ROOMY: Readonly<Record<string, Policy>> = {
  'token-bucket': tokenBucket({ name: 'p', capacity: 1_000, refill: 1_000, every: WINDOW_MS }),
  'fixed-window': fixedWindow({ name: 'p', limit: 1_000, window: WINDOW_MS }),
  'sliding-log': slidingLog({ name: 'p', limit: 1_000, window: WINDOW_MS }),
  'sliding-window': slidingWindow({ name: 'p', limit: 1_000, window: WINDOW_MS, parts: 10 }),
  'sliding-counter': slidingCounter({ name: 'p', limit: 1_000, window: WINDOW_MS }),
}

const client = singleClient()
let runs = 0

function limiterFor(policy: Policy, options: object = {}): [limiter: RateLimiter, key: string] {
  runs += 1
  const prefix = `ttl-${process.pid}-${runs}`
  const limiter = new RateLimiter({
    name: 'ttl',
    store: patientStore(client, { prefix, ...options }),
    policy,
  })
  return [limiter, `${prefix}:{u}:ttl:p:${counterOf(policy)}`]
}

/**
 * The reset according to the limiter, and the TTL according to the server, at one instant.
 */
async function ttlAfter(
  decide: () => Promise<{ resetAfterMs: number }>,
  key: string,
): Promise<Ttl> {
  const before = performance.now()
  const { resetAfterMs } = await decide()
  const ttlMs = await client.pttl(key)
  return { resetAfterMs, ttlMs, passedMs: performance.now() - before }
}

interface Ttl {
  readonly resetAfterMs: number
  readonly ttlMs: number
  /** The time since before the decision. */
  readonly passedMs: number
}

function expectToOutlive({ resetAfterMs, ttlMs, passedMs }: Ttl, slackMs = 0): void {
  // Under an injected clock, some real time has passed since the window's TTL was written, which
  // the slack covers.
  const realMs = slackMs > 0 ? 5_000 : 0
  expect(ttlMs).toBeGreaterThanOrEqual(resetAfterMs + slackMs - passedMs - realMs - 2)
}

/**
 * Keys may outlive their state: the bucket by two cells, since it may have been refunded; a log by
 * one cell and a second; the others by a second, and a counter by a window more if its units in the
 * last one were refunded.
 */
function expectTtl(ttl: Ttl, slackMs = 0): void {
  expectToOutlive(ttl, slackMs)
  expect(ttl.ttlMs).toBeLessThanOrEqual(2 * ttl.resetAfterMs + 2 * CELL_MS + slackMs)
}

describe.each(policies)('$algorithm', (policy) => {
  test('as time passes, a TTL is written again before it is too short', async () => {
    const clock = fakeClock()
    const [limiter, key] = limiterFor(ROOMY[policy.algorithm] as Policy, { clock })
    // Steps so short that writes are at the beginning and at the end of each cell.
    const stepMs = 211
    await limiter.consume('u')
    let at = performance.now()
    for (let passedMs = 0; passedMs < 2.5 * WINDOW_MS; passedMs += stepMs) {
      clock.advance(stepMs)
      // The TTL follows the injected time, and no other.
      const ttlMs = (await client.pttl(key)) - stepMs + (performance.now() - at)
      expect(await client.pexpire(key, Math.round(ttlMs))).toBe(1)
      at = performance.now()
      const { allowed, resetAfterMs } = await limiter.consume('u')
      expect(allowed).toBe(true)
      const keptMs = (await client.pttl(key)) - SLACK_MS + (performance.now() - at)
      expect(keptMs).toBeGreaterThan(resetAfterMs - 300)
    }
  })

  test('the first TTL has some to spare, so the next writes need none', async () => {
    const [limiter, key] = limiterFor(policy, { clock: fakeClock(START_MS) })
    await limiter.consume('u')
    const { resetAfterMs } = await limiter.peek('u')
    const spareMs = (await client.pttl(key)) - resetAfterMs - SLACK_MS
    expect(Math.abs(spareMs - sparedMs(policy))).toBeLessThan(3_000)
  })

  test('a TTL that was lost is restored', async () => {
    const clock = fakeClock()
    const [limiter, key] = limiterFor(policy, { clock })
    await limiter.consume('u')
    await client.persist(key)
    expect(await client.pttl(key)).toBe(-1)
    // The window, or the cell, after this one restores it.
    clock.advance(CELLS_MS[policy.algorithm] ?? WINDOW_MS)
    expectTtl(await ttlAfter(() => limiter.consume('u'), key), SLACK_MS)
  })

  test('a state that is stamped again has a TTL, though it had lost its own', async () => {
    const clock = fakeClock()
    const [limiter, key] = limiterFor(policy, { clock })
    await limiter.consume('u')
    clock.advance(-5 * WINDOW_MS)
    await client.persist(key)
    expectTtl(await ttlAfter(() => limiter.consume('u'), key), SLACK_MS)
  })
})

/** How much longer than the state a new key lives. */
function sparedMs({ algorithm }: Policy): number {
  return algorithm === 'token-bucket' ? CELL_MS : (CELLS_MS[algorithm] ?? 0) + 1_000
}
