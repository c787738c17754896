// A seeded random walk over one key that checks the contract at every step.

import type { Policy } from '../algorithms/policy.js'
import type { Decision } from '../limiter/decision.js'
import type { RateLimiter } from '../limiter/limiter.js'
import type { FakeClock } from './clock.js'
import type { Subject } from './units.js'

/**
 * Walks `steps` steps. (a) a denial changes nothing, (b) waits are exact, (c) a peek tells what a
 * consume does and changes nothing, (d) after the reset the key is like a fresh one, (f) what
 * remains can be taken, (h) an earlier now leaves no more, (j) what can never pass is denied for
 * ever.
 */
export async function walk(
  limiter: Subject,
  clock: FakeClock,
  policy: Policy,
  key: string,
  steps: number,
): Promise<void> {
  const random = mulberry32(policy.limit * 7919 + policy.windowMs)
  const pick = (below: number) => Math.floor(random() * below)
  const { limit } = policy
  for (let step = 0; step < steps; step += 1) {
    const where = `step ${step} of ${policy.name}`
    const cost = [0, 1, 1, 1, 2, 3, limit, limit + 1][pick(8)] as number
    const expected = await limiter.peek(key, { cost })
    const again = await limiter.peek(key, { cost })
    must(
      figuresOf(again) === figuresOf(expected),
      `${where}: (c) a peek changed what the next one says`,
    )
    const decision = await limiter.consume(key, { cost })
    must(decision.allowed === expected.allowed, `${where}: (c) peek and consume disagree`)
    if (decision.allowed) {
      must(
        decision.remaining === expected.remaining - cost,
        `${where}: remaining fell by another number than the cost`,
      )
      must(
        cost > 0 || figuresOf(decision) === figuresOf(expected),
        `${where}: (c) cost 0 changed something`,
      )
      await mustHaveLeft(limiter, key, decision, limit, where)
    } else {
      must(isSameDenial(decision, expected), `${where}: (a) a denial differs from its peek`)
      must(
        figuresOf(await limiter.peek(key, { cost })) === figuresOf(expected),
        `${where}: (a) a denial changed something`,
      )
      const { isHint, isLasting } = policy.kernel?.traits ?? {}
      const isNever = decision.retryAfterMs === Number.POSITIVE_INFINITY
      must(
        cost > limit === isNever || (isLasting === true && isNever),
        `${where}: (j) never, and only then`,
      )
      if (isHint) mustBeHint(decision, where)
      else if (!isNever && pick(2) === 0)
        await mustWaitExactly(limiter, clock, key, cost, waitOf(expected), where)
    }
    const motion = pick(12)
    if (motion === 0) await mustBeFreshAfterReset(limiter, clock, key, limit, where)
    else if (motion === 1) await mustNotGainFromThePast(limiter, clock, key, pick(5_000), where)
    else if (motion < 8) clock.advance((random() ** 3 * policy.windowMs) / 2)
  }
}

/**
 * (k) One key under three limits and two time scales, in random order: on each time scale, no more
 * units pass than the most generous limit alone grants to somebody who takes all there is at each
 * step, plus that limit once.
 */
export async function mixedWalk(
  limiter: (policy: Policy) => RateLimiter,
  clock: FakeClock,
  policy: Policy,
  make: (limit: number, times?: number) => Policy,
  steps: number,
): Promise<void> {
  const random = mulberry32(policy.limit * 104_729 + policy.windowMs)
  const pick = (below: number) => Math.floor(random() * below)
  const most = policy.limit * 2
  const scales = [1, 3].map((times) => ({
    limiters: [policy.limit, most, Math.ceil(policy.limit / 3)].map((limit) =>
      limiter(make(limit, times)),
    ),
    alone: limiter(make(most, times)),
    passed: 0,
    passedAlone: 0,
  }))
  for (let step = 0; step < steps; step += 1) {
    for (const scale of scales) {
      const { remaining } = await scale.alone.peek('alone')
      await scale.alone.consume('alone', { cost: remaining })
      scale.passedAlone += remaining
      for (let asked = 0; asked < 3; asked += 1) {
        const cost = 1 + pick(3)
        const chosen = scale.limiters[pick(3)] as RateLimiter
        if ((await chosen.consume('k', { cost })).allowed) scale.passed += cost
      }
      const bound = scale.passedAlone + most
      must(
        scale.passed <= bound,
        `step ${step} of ${policy.name}: (k) ${scale.passed} passed of ${bound}`,
      )
    }
    clock.advance((random() ** 3 * policy.windowMs) / 2)
  }
}

/** (f) */
async function mustHaveLeft(
  limiter: Subject,
  key: string,
  { remaining }: Decision,
  limit: number,
  where: string,
): Promise<void> {
  must(
    (await limiter.peek(key, { cost: remaining })).allowed,
    `${where}: (f) less can be taken than remains`,
  )
  if (remaining < limit) {
    must(
      !(await limiter.peek(key, { cost: remaining + 1 })).allowed,
      `${where}: (f) more can be taken than remains`,
    )
  }
}

/** (b) */
async function mustWaitExactly(
  limiter: Subject,
  clock: FakeClock,
  key: string,
  cost: number,
  retryAfterMs: number,
  where: string,
): Promise<void> {
  clock.advance(retryAfterMs - 1)
  must(!(await limiter.consume(key, { cost })).allowed, `${where}: (b) passes before retryAfterMs`)
  clock.advance(1)
  must((await limiter.consume(key, { cost })).allowed, `${where}: (b) is denied at retryAfterMs`)
}

/** In place of (b): nobody knows when a slot is released, so the wait is at most a second. */
function mustBeHint(decision: Decision, where: string): void {
  const waitMs = waitOf(decision)
  const isHint = waitMs === Number.POSITIVE_INFINITY || waitMs <= 1_000
  must(isHint && waitMs > 0, `${where}: the hint is ${waitMs} ms`)
}

/** (d) */
async function mustBeFreshAfterReset(
  limiter: Subject,
  clock: FakeClock,
  key: string,
  limit: number,
  where: string,
): Promise<void> {
  // With cost 0: a refusal may begin a block, and a peek tells what would happen.
  const { resetAfterMs } = await limiter.peek(key, { cost: 0 })
  clock.advance(resetAfterMs)
  const fresh = await limiter.peek(key, { cost: 0 })
  must(
    fresh.remaining === limit && fresh.resetAfterMs === 0,
    `${where}: (d) not fresh after resetAfterMs`,
  )
}

/** (h) */
async function mustNotGainFromThePast(
  limiter: Subject,
  clock: FakeClock,
  key: string,
  stepMs: number,
  where: string,
): Promise<void> {
  const { remaining } = await limiter.peek(key)
  clock.advance(-stepMs)
  must((await limiter.peek(key)).remaining <= remaining, `${where}: (h) an earlier now leaves more`)
  clock.advance(stepMs)
}

/**
 * A store may answer a denial from memory, which may then report fewer units left, and a wait that
 * is up to 1 ms longer.
 */
function isSameDenial(decision: Decision, expected: Decision): boolean {
  if (decision.source === 'store') return figuresOf(decision) === figuresOf(expected)
  const longer = waitOf(decision) - waitOf(expected)
  return decision.remaining <= expected.remaining && !(longer < 0 || longer > 1)
}

function waitOf(decision: Decision): number {
  return decision.allowed ? 0 : decision.retryAfterMs
}

function figuresOf({ policies }: Decision): string {
  return policies.map(({ remaining, resetAfterMs }) => `${remaining} ${resetAfterMs}`).join()
}

function must(holds: boolean, message: string): void {
  if (!holds) throw new Error(message)
}

/** A generator with a period of 2^32 and good bits (Tommy Ettinger, public domain). */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
