// Random requests of classes, compared with a model: a limiter without classes beside it, and the
// rule that a request passes if its cost and what its class leaves fit into what is left.

import { strict as assert } from 'node:assert'
import fc from 'fast-check'
import type { Decision, Policy, Store } from '../../src/index.js'
import { memoryStore, RateLimiter } from '../../src/index.js'
import type { FakeClock } from '../../src/testing/index.js'
import { unitFactories } from '../unit-factories.js'
import { countsOf, Tally } from './tally.js'

const CLASSES = ['critical', 'normal', 'batch', 'idle'] as const
/** Fractions in twentieths, so that what is kept is a known whole number. */
const TWENTIETHS = 20
const WINDOW_MS = 10_000
const KEYS = ['one', 'two'] as const

interface Step {
  readonly goMs: number
  readonly priority: number
  readonly key: number
  readonly costs: readonly number[]
  readonly how: 'consume' | 'peek' | 'refund'
}

export interface PriorityWalk {
  readonly limits: readonly number[]
  /** Of all classes except the first. */
  readonly reserves: readonly number[]
  readonly steps: readonly Step[]
}

const step: fc.Arbitrary<Step> = fc.record({
  goMs: fc.oneof(fc.constant(0), fc.constant(0), fc.nat(300), fc.nat(WINDOW_MS)),
  priority: fc.nat(CLASSES.length - 1),
  key: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
  costs: fc.tuple(fc.constantFrom(0, 1, 1, 1, 2, 3), fc.constantFrom(0, 1, 1, 2)),
  how: fc.constantFrom('consume', 'consume', 'consume', 'consume', 'peek', 'refund'),
})

/** @param policies how many decide together */
export function priorityWalks(policies: number): fc.Arbitrary<PriorityWalk> {
  return fc.record({
    limits: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: policies, maxLength: policies }),
    reserves: fc.array(fc.nat(TWENTIETHS), { minLength: 3, maxLength: 3 }),
    steps: fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
  })
}

/** By name, policies of each algorithm: alone, and beside one of another algorithm. */
export const walkedPolicies: Readonly<Record<string, (limits: readonly number[]) => Policy[]>> =
  Object.fromEntries(
    Object.entries(unitFactories).flatMap(([name, { of }], i, all) => {
      const [other, { of: ofOther }] = all[(i + 1) % all.length] as (typeof all)[number]
      const made = ([limit = 1, next = 1]: readonly number[]): [Policy, Policy] => [
        of(limit, WINDOW_MS),
        ofOther(next, WINDOW_MS * 2),
      ]
      return [
        [name, (limits: readonly number[]) => made(limits).slice(0, 1)],
        [`${name} beside ${other}`, (limits: readonly number[]) => made(limits)],
      ]
    }),
  )

export interface Walked {
  readonly walk: PriorityWalk
  readonly policies: readonly Policy[]
  /** Its clock is `clock`. */
  readonly store: Store
  readonly clock: FakeClock
  /** The name of the limiter on the store. */
  readonly name: string
}

export interface Sums {
  denied: number
  /** Denials although units were left: by what the class leaves. */
  kept: number
}

export async function takePriorityWalk(walked: Walked, sums: Sums): Promise<void> {
  const { walk, policies, store, clock, name } = walked
  const twentieths = [0, ...walk.reserves]
  const [, ...others] = CLASSES
  const reserve = Object.fromEntries(
    others.map((each, i) => [each, (walk.reserves[i] as number) / TWENTIETHS]),
  )
  const limiter = new RateLimiter({ name, store, policy: policies, reserve })
  const model = new RateLimiter({ name, store: memoryStore({ clock }), policy: policies })
  const names = (await model.peek('names')).policies.map(({ policy }) => policy.name)
  const tally = new Tally()
  const charged: [own: Decision, twin: Decision][] = []
  for (const { goMs, priority: place, key: at, costs, how } of walk.steps) {
    clock.advance(goMs)
    const key = KEYS[at] as string
    if (how === 'refund') {
      const [own, twin] = charged.pop() ?? []
      if (own !== undefined) await limiter.refund(own)
      if (own !== undefined) tally.refunded(own)
      if (twin !== undefined) await model.refund(twin)
      continue
    }
    const cost = Object.fromEntries(names.map((each, i) => [each, costs[i] as number]))
    const keep = policies.map(({ limit }, i) => {
      const isFree = costs[i] === 0
      return isFree ? 0 : Math.ceil(((twentieths[place] as number) * limit) / TWENTIETHS)
    })
    const fits = async () => {
      const { policies: all } = await model.peek(key, { cost: 0 })
      return all.every(
        ({ remaining }, i) =>
          costs[i] === 0 || remaining - (keep[i] as number) >= (costs[i] as number),
      )
    }
    const allowed = await fits()
    const priority = CLASSES[place] as string
    const decision = await limiter[how](key, { cost, priority })
    assert.equal(decision.allowed, allowed, `${priority} of cost ${JSON.stringify(cost)}`)
    assert.equal(decision.priority, priority)
    if (how === 'consume') tally.decided(decision)
    if (allowed && how === 'consume') charged.push([decision, await model.consume(key, { cost })])
    const left = (await model.peek(key, { cost: 0 })).policies
    if (decision.source === 'store') {
      assert.deepEqual(
        decision.policies.map(({ remaining }) => remaining),
        left.map(({ remaining }, i) => Math.max(0, remaining - (keep[i] as number))),
        'what is left to the class',
      )
    }
    if (decision.allowed) continue
    sums.denied += 1
    if (left.every(({ remaining }, i) => remaining >= (costs[i] as number))) sums.kept += 1
    const { retryAfterMs } = decision
    const never = policies.some(({ limit }, i) => {
      return costs[i] !== 0 && (costs[i] as number) + (keep[i] as number) > limit
    })
    assert.equal(retryAfterMs === Number.POSITIVE_INFINITY, never, 'never, and only then')
    // What a process remembers does not include what others took since.
    if (never || decision.source !== 'store') continue
    clock.advance(retryAfterMs)
    assert.ok(await fits(), 'it passes when its wait is over')
    clock.advance(-1)
    assert.ok(!(await fits()), 'and not 1 ms earlier')
    clock.advance(1 - retryAfterMs)
  }
  assert.deepEqual(countsOf(limiter), tally.counts, 'what stats say')
  await model.store.close?.()
}
