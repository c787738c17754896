// Lock-outs compared with a model that stores attempts as a list and is written from
// docs/lock-outs.md: random attempts, refunds, penalties, blocks by hand, resets and steps of the
// clock. That Redis decides the same is shown by redis/differential.test.ts.
//
// WEIR_WEEKLY=1 takes 100,000 steps, from a seed that it draws.

import { seedOf, stepsOf } from '@weir/testkit'
import { expect, test } from 'vitest'
import { type Decision, lockout, memoryStore, type Policy, RateLimiter } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { randomFrom } from '../virtual-time.js'

const STEPS = stepsOf(750, 100_000)
const SEED = seedOf(1)
const STEPS_OF_WALK = 60
const LIMIT = 4
// Everything happens at a whole 10 ms, so that no window ends in the same millisecond as a block,
// which could not be distinguished.
const WINDOW_MS = 3_007
const BLOCKS_MS = [500, 1_500, 4_000]
const FORGET_MS = 6_000

type Granted = Extract<Decision, { allowed: true }>
type Starts = 'limit' | 'excess'

interface Attempts {
  readonly ids: Set<number>
  beganMs: number
}

/** One counter, as documented. */
class Model {
  readonly #starts: Starts
  #attempts: Attempts | undefined
  /** The end of the last block, and that of the one before, which a lifted block restores. */
  #endMs = 0
  #beforeMs = 0
  level = 0
  /** Something is over that a step back of the clock would bring back, unless it was deleted. */
  hasOver = false

  constructor(starts: Starts) {
    this.#starts = starts
  }

  remaining(nowMs: number): number {
    return this.waitMs(nowMs) > 0 ? 0 : Math.max(0, LIMIT - this.#count)
  }

  /** How long a block makes it refuse. */
  waitMs(nowMs: number): number {
    this.#tidy(nowMs)
    return Math.max(0, this.#isAhead(nowMs) ? this.#lengthMs() : this.#endMs - nowMs)
  }

  /** What is too far ahead, after the clock has stepped back, begins now. A peek leaves it
   *  there. */
  heal(nowMs: number): void {
    if (this.#isAhead(nowMs)) this.#endMs = nowMs + this.#lengthMs()
    if (this.#attempts !== undefined && this.#attempts.beganMs > nowMs)
      this.#attempts.beganMs = nowMs
  }

  /** Whether an attempt would be granted. */
  allows(nowMs: number): boolean {
    return this.waitMs(nowMs) === 0 && this.#count < LIMIT
  }

  /** Whether no attempt is left, and no block has begun. */
  isUsedUp(nowMs: number): boolean {
    return this.waitMs(nowMs) === 0 && this.#count >= LIMIT
  }

  /** One attempt that was refused by this counter alone. */
  refused(nowMs: number): void {
    if (this.#starts === 'excess' && this.isUsedUp(nowMs)) this.#begin(nowMs)
  }

  take(id: number, nowMs: number): void {
    this.heal(nowMs)
    const isBlocked = this.waitMs(nowMs) > 0
    if (isBlocked && this.#attempts === undefined) return
    this.#attempts ??= { ids: new Set(), beganMs: nowMs }
    this.hasOver = false
    this.#attempts.ids.add(id)
    const most = this.#starts === 'limit' ? LIMIT : LIMIT + 1
    if (!isBlocked && this.#count >= most) this.#begin(nowMs)
  }

  refund(id: number, nowMs: number): void {
    const isBlocked = this.waitMs(nowMs) > 0
    if (this.#attempts?.ids.delete(id) !== true) return
    if (isBlocked && this.#count < LIMIT) {
      this.level -= 1
      this.#endMs = this.#beforeMs
      this.#beforeMs = 0
    }
    if (this.#count === 0) this.#attempts = undefined
    this.hasOver = true
    this.#tidy(nowMs)
    this.#forgetNothing(nowMs)
  }

  block(ms: number, nowMs: number): void {
    this.heal(nowMs)
    const left = this.waitMs(nowMs)
    this.#attempts = undefined
    this.#beforeMs = 0
    this.#endMs = nowMs + Math.max(ms, left)
  }

  unblock(nowMs: number): void {
    this.heal(nowMs)
    if (this.waitMs(nowMs) === 0) return
    this.#attempts = undefined
    this.#endMs = nowMs
    this.hasOver = true
    this.#forgetNothing(nowMs)
  }

  forget(): void {
    this.hasOver = true
    this.#attempts = undefined
    this.#endMs = 0
    this.#beforeMs = 0
    this.level = 0
  }

  /** Deletes a key in which nothing matters any more. */
  #forgetNothing(nowMs: number): void {
    if (this.#count === 0 && this.level === 0 && this.#endMs <= nowMs) this.forget()
  }

  get #count(): number {
    return this.#attempts?.ids.size ?? 0
  }

  #begin(nowMs: number): void {
    this.level += 1
    this.#beforeMs = this.#endMs
    this.#endMs = nowMs + this.#lengthMs()
  }

  #lengthMs(): number {
    return BLOCKS_MS[Math.min(Math.max(this.level, 1), BLOCKS_MS.length) - 1] as number
  }

  #tidy(nowMs: number): void {
    const attempts = this.#attempts
    if (this.#endMs <= nowMs) {
      const isOver = (beganMs: number) => beganMs < this.#endMs || beganMs + WINDOW_MS <= nowMs
      if (attempts !== undefined && isOver(attempts.beganMs)) {
        this.#attempts = undefined
        this.hasOver = true
      }
      if (this.#endMs > 0 && this.#endMs + FORGET_MS <= nowMs) {
        this.level = 0
        this.hasOver = true
      }
    }
  }

  #isAhead(nowMs: number): boolean {
    return this.#endMs - nowMs > FORGET_MS
  }
}

const policyOf = (name: string, starts: Starts): Policy =>
  lockout({ name, limit: LIMIT, window: WINDOW_MS, block: BLOCKS_MS, forget: FORGET_MS, starts })

test.each([
  ['limit', 'one policy'],
  ['excess', 'one policy'],
  ['limit', 'a policy key beside it'],
] as const)(
  `blocks that start with the %s are those of a model, with %s, in ${STEPS} steps`,
  { timeout: 120_000 + STEPS * 20 },
  async (starts, policies) => {
    const isAlone = policies === 'one policy'
    const seen = { granted: 0, blocked: 0, lifted: 0, levels: 0 }
    let steps = 0
    for (let walk = 0; steps < STEPS; walk += 1) {
      const seed = SEED * 1_000_003 + walk
      const random = randomFrom(seed)
      const pick = (below: number) => Math.floor(random() * below)
      const clock = fakeClock()
      const nowMs = () => Math.floor(clock.nowUs() / 1_000)
      const store = memoryStore({ clock })
      const policy = [
        { policy: policyOf('account', starts) },
        ...(isAlone ? [] : [{ policy: policyOf('address', starts), key: 'address' }]),
      ]
      const limiter = new RateLimiter({ name: 'login', store, policy })
      const models = policy.map(() => new Model(starts))
      const charges: Granted[] = []
      let isSetBack = false
      const ids = new Map<Granted, number>()
      const check = async (): Promise<void> => {
        const { policies: shown } = await limiter.peek('k')
        const expected = models.map((model) => ({
          remaining: model.remaining(nowMs()),
          // A peek reports what an attempt would get: under the excess, the block that it begins.
          level: model.level + (starts === 'excess' && model.isUsedUp(nowMs()) ? 1 : 0),
        }))
        const is = shown.map(({ remaining, block }) => ({ remaining, level: block?.level }))
        expect(is).toEqual(expected)
      }
      const consume = async (): Promise<void> => {
        for (const model of models) model.heal(nowMs())
        const isAllowed = models.every((model) => model.allows(nowMs()))
        const decision = await limiter.consume('k')
        expect(decision.allowed).toBe(isAllowed)
        if (decision.allowed) {
          seen.granted += 1
          ids.set(decision, steps)
          charges.push(decision)
          for (const model of models) model.take(steps, nowMs())
        } else {
          if (isAlone) models[0]?.refused(nowMs())
          const waits = models.map((model) => model.waitMs(nowMs()))
          if (Math.max(...waits) > 0) {
            seen.blocked += 1
            expect(decision.retryAfterMs).toBe(Math.max(...waits))
          }
        }
      }
      const refund = async (): Promise<void> => {
        // What was forgotten at a time that is now in the future may include any earlier charge.
        if (charges.length === 0 || isSetBack) return
        const [charge] = charges.splice(pick(charges.length), 1) as [Granted]
        const before = models.some((model) => model.waitMs(nowMs()) > 0)
        for (const model of models) model.refund(ids.get(charge) as number, nowMs())
        await limiter.refund(charge)
        if (before && models.every((model) => model.waitMs(nowMs()) === 0)) seen.lifted += 1
      }
      const rarely = async (): Promise<void> => {
        const does = pick(5)
        if (does === 0) {
          for (const model of models) model.take(-steps, nowMs())
          await limiter.penalty('k')
        } else if (does === 1 && isAlone) {
          const ms = 10 + 10 * pick(FORGET_MS / 10)
          models[0]?.block(ms, nowMs())
          await limiter.block('k', ms)
        } else if (does === 2 && isAlone) {
          models[0]?.unblock(nowMs())
          await limiter.unblock('k')
        } else if (does === 3) {
          // A policy with a policy key is not reset with the others.
          models[0]?.forget()
          await limiter.reset('k')
        } else if (does === 4 && isAlone && models[0]?.hasOver === false) {
          // Of two in different slots, only the one that refuses is healed.
          isSetBack = true
          clock.advance(-10 * pick(FORGET_MS / 5))
        }
      }
      try {
        for (let step = 0; step < STEPS_OF_WALK; step += 1) {
          steps += 1
          // Events in one millisecond have no order.
          clock.advance(10 + pick(2) * pick(2) * 10 * pick(200))
          const does = pick(10)
          if (does < 6) await consume()
          else if (does < 9) await refund()
          else await rarely()
          await check()
          seen.levels = Math.max(seen.levels, ...models.map(({ level }) => level))
        }
      } catch (error) {
        throw new Error(`seed ${SEED}, walk ${walk}, step ${steps}`, { cause: error })
      } finally {
        limiter.close()
        await store.close()
      }
    }
    expect(seen.granted).toBeGreaterThan(STEPS / 10)
    expect(seen.blocked).toBeGreaterThan(STEPS / 20)
    expect(seen.lifted).toBeGreaterThan(STEPS / 200)
    expect(seen.levels).toBeGreaterThan(2)
  },
)
