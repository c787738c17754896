// Budgets in every store: what settlements, refunds and penalties do to what is held and spent; and
// random walks beside a model that keeps each hold by itself.
//
// WEIR_WEEKLY=1 takes 10,000 steps, from a seed that it draws.

import { seedOf, stepsOf } from '@weir/testkit'
import { expect, test } from 'vitest'
import { changed, isPolicy } from '../../src/algorithms/policy.js'
import {
  budget,
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
} from '../../src/index.js'
import { makePolicySet } from '../../src/request.js'
import type { Store, StoreRequest, StoreResult } from '../../src/store.js'
import { type FakeClock, fakeClock } from '../../src/testing/clock.js'
import { tableStore } from '../database/table-store.js'
import { randomFrom } from '../virtual-time.js'
import { singleClient } from './clients.js'
import { patientStore } from './patient.js'

const HOLD_MS = 10_000
const PART_MS = Math.ceil(HOLD_MS / 60)
const FORGET_MS = 60_000
const STEPS = stepsOf(540, 10_000)

let runs = 0
const stores: Readonly<Record<string, (clock: FakeClock) => Store | Promise<Store>>> = {
  memory: (clock) => memoryStore({ clock }),
  rows: tableStore,
  Redis(clock) {
    runs += 1
    return patientStore(singleClient(), { clock, prefix: `budgets-${process.pid}-${runs}` })
  },
}

const total = budget({ name: 'total', limit: 20, holdTimeout: HOLD_MS, forgetAfter: FORGET_MS })
const rate = fixedWindow({ name: 'rate', limit: 50, window: '1h' })

async function limiterOn(name: string, policy: Policy | Policy[]) {
  const clock = fakeClock()
  const store = await stores[name]?.(clock)
  const limiter = new RateLimiter({ name: 'api', policy, ...(store && { store }) })
  const left = async () => (await limiter.peek('k')).policies.map(({ remaining }) => remaining)
  return { clock, limiter, left }
}

test.each(Object.keys(stores))(
  '%s: an estimate is spent when it is settled, or comes back',
  async (name) => {
    const { clock, limiter, left } = await limiterOn(name, [total, rate])
    const charged = async (cost: number): Promise<Decision> => {
      clock.advance(PART_MS)
      return limiter.consume('k', { cost })
    }
    const equal = await charged(3)
    const less = await charged(3)
    const more = await charged(3)
    const none = await charged(3)
    const late = await charged(4)
    expect(await left()).toEqual([4, 34])
    await limiter.settle(equal, 3)
    await limiter.settle(less, 1)
    await limiter.settle(more, 5)
    expect(await left()).toEqual([4, 34])
    await limiter.refund(none)
    expect(await left()).toEqual([7, 37])
    const penalty = await limiter.penalty('k', { cost: 2 })
    clock.advance(HOLD_MS + PART_MS)
    // What nobody settled came back, and what was spent did not.
    expect(await left()).toEqual([9, 35])
    await limiter.settle(late, 5)
    expect(await left()).toEqual([4, 34])
    if (penalty.allowed) await limiter.refund(penalty)
    expect(await left()).toEqual([6, 36])
  },
)

test('a budget that is used up says so, and that no time helps', async () => {
  const { limiter } = await limiterOn('memory', budget({ name: 'turns', limit: 2 }))
  await limiter.consume('k', { cost: 2 })
  const never = Number.POSITIVE_INFINITY
  const denied = { allowed: false, reason: 'limit', retryAfterMs: never }
  expect(await limiter.consume('k')).toMatchObject(denied)
  const reason = 'cost-exceeds-limit'
  expect(await limiter.consume('k', { cost: 3 })).toMatchObject({ ...denied, reason })
})

test('a refund by the name of an estimate that has expired gives nothing back', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const target = { policySet: makePolicySet('api', [total]), key: 'k' }
  const request = { target, costs: [5], count: 1 }
  await store.decide({ ...request, mode: 'penalty' })
  const { untilUs, nowUs: seenUs } = await store.decide({ ...request, mode: 'consume' })
  clock.advance(2 * HOLD_MS)
  await store.decide({ ...request, mode: 'refund', untilUs, seenUs })
  const { policies } = await store.decide({ ...request, mode: 'peek' })
  expect(policies[0]?.remaining).toBe(15)
})

test('a refund of nothing spends the estimate', async () => {
  const clock = fakeClock()
  const limiter = new RateLimiter({ name: 'api', policy: total, store: memoryStore({ clock }) })
  const decision = await limiter.consume('k', { cost: 5 })
  await limiter.refund(decision, { cost: 0 })
  clock.advance(2 * HOLD_MS)
  expect(await limiter.peek('k')).toMatchObject({ remaining: 15 })
})

test('a hold that was renewed is settled by its new name, and is renewed no more', async () => {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const limiter = new RateLimiter({ name: 'api', policy: total, store })
  const held = await limiter.acquire('k', { cost: 5 })
  clock.advance(8_000)
  const target = { policySet: makePolicySet('api', [total]), key: 'k' }
  await limiter.settle(held, 7)
  await held.release()
  clock.advance(HOLD_MS)
  expect(
    (await store.decide({ mode: 'peek', target, costs: [1], count: 1 })).policies[0]?.remaining,
  ).toBe(13)
  await limiter.close()
})

test('a policy with another number of numbers than its kernel is none', () => {
  expect(isPolicy(total)).toBe(true)
  expect(isPolicy(changed(total, { numbers: [20] }))).toBe(false)
})

interface Hold {
  readonly units: number
  readonly result: StoreResult
  untilUs: readonly number[]
  expiryMs: number
}

/** What is spent, and each hold by itself. */
class Model {
  spent = 0
  endMs = 0
  readonly holds: Set<Hold> = new Set()

  used(nowMs: number): number {
    if (nowMs >= this.endMs) this.spent = 0
    for (const hold of this.holds) if (hold.expiryMs <= nowMs) this.holds.delete(hold)
    return [...this.holds].reduce((sum, { units }) => sum + units, this.spent)
  }

  spend(units: number, nowMs: number): void {
    this.spent += units
    this.endMs = nowMs + FORGET_MS
  }
}

test(`every store decides as a model that keeps each hold, over ${STEPS} steps`, async () => {
  const random = randomFrom(seedOf(1))
  const whole = (most: number) => Math.floor(random() * most)
  for (let steps = 0; steps < STEPS; ) {
    const clock = fakeClock()
    const all = await Promise.all(Object.values(stores).map((make) => make(clock)))
    const target = { policySet: makePolicySet('api', [total]), key: 'k' }
    const model = new Model()
    let open: Hold[] = []
    const ask = async (parts: Partial<StoreRequest>): Promise<StoreResult> => {
      const request = { target, costs: [1], count: 1, ...parts } as StoreRequest
      const results = await Promise.all(all.map((store) => store.decide(request)))
      const [one, ...others] = results.map(({ granted, untilUs, policies: [only] }) => {
        return { granted, untilUs, left: only?.remaining, wait: only?.retryAfterMs }
      })
      for (const other of others) expect(other, JSON.stringify(parts)).toEqual(one)
      return results[0] as StoreResult
    }
    for (let i = 0; i < 90; i += 1, steps += 1) {
      clock.advance(1 + (whole(8) === 0 ? whole(HOLD_MS) : whole(2 * PART_MS)))
      if (whole(60) === 0) clock.advance(FORGET_MS)
      const nowMs = Math.floor(clock.nowUs() / 1_000)
      const expiryMs = Math.ceil((nowMs + HOLD_MS) / PART_MS) * PART_MS
      const used = model.used(nowMs)
      const what = whole(20)
      const units = 1 + whole(4)
      const hold = what >= 9 ? open.splice(whole(open.length), 1)[0] : undefined
      if (what < 9) {
        const result = await ask({ mode: 'consume', costs: [units] })
        expect(result.granted, `step ${steps}`).toBe(total.limit - used >= units ? 1 : 0)
        if (result.granted === 0) {
          const fits = [...model.holds].sort((one, other) => one.expiryMs - other.expiryMs)
          let free = total.limit - used
          const last = fits.find(({ units: back }) => {
            free += back
            return free >= units
          })
          const waitMs = last === undefined ? Number.POSITIVE_INFINITY : last.expiryMs - nowMs
          expect(result.policies[0]?.retryAfterMs, `step ${steps}`).toBe(waitMs)
          continue
        }
        const made = { units, result, untilUs: result.untilUs, expiryMs }
        model.holds.add(made)
        model.spend(0, nowMs)
        open.push(made)
      } else if (hold === undefined) {
        await ask({ mode: 'penalty', costs: [units] })
        model.spend(units, nowMs)
      } else if (what < 16) {
        const actual = whole(3) === 0 ? hold.units : whole(7)
        const { untilUs, result } = hold
        const settle = { costs: [actual - hold.units], charged: [hold.units], untilUs } as const
        const isHeld = model.holds.delete(hold)
        await ask({ mode: 'settle', ...settle, seenUs: result.nowUs })
        if (actual > 0) model.spend(actual, nowMs)
        // Another time, as after a lost answer: for a hold that shares its run, it might be theirs.
        const isAlone = ![...model.holds].some((other) => other.expiryMs === hold.expiryMs)
        if (isHeld && isAlone) await ask({ mode: 'settle', ...settle, seenUs: result.nowUs })
      } else if (what < 18) {
        const seenUs = hold.result.nowUs
        const { granted, untilUs } = await ask({
          mode: 'renew',
          costs: [hold.units],
          untilUs: hold.untilUs,
          seenUs,
        })
        expect(granted).toBe(1)
        Object.assign(hold, { untilUs, expiryMs })
        model.holds.add(hold)
        model.spend(0, nowMs)
        open.push(hold)
      } else if (what === 18) {
        // Its process dies: the hold expires.
      } else if (whole(4) === 0) {
        await Promise.all(all.map((store) => store.reset(target)))
        Object.assign(model, { spent: 0 })
        model.holds.clear()
        open = []
        clock.advance(1)
      } else {
        const before = model.used(nowMs)
        // As of a penalty, and of what was admitted without the store.
        const untilUs = whole(2) === 0 ? undefined : [Number.POSITIVE_INFINITY]
        await ask({ mode: 'refund', costs: [units], untilUs })
        model.spent -= Math.min(units, model.spent)
        expect(model.used(nowMs)).toBeLessThanOrEqual(before)
      }
      const { policies } = await ask({ mode: 'peek' })
      const left = Math.max(0, total.limit - model.used(nowMs))
      expect(policies[0]?.remaining, `step ${steps}, after ${what}`).toBe(left)
    }
  }
}, 600_000)
