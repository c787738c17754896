// Settings that change under one name: several processes request one key under several limits and
// time scales, in any order. Contract (k): for each time scale, no more passes than the most
// generous limit alone would let pass, plus one limit.
import { strict as assert } from 'node:assert'
import fc from 'fast-check'
import {
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
import { makePolicySet } from '../../src/request.js'
import type { PolicySet, StoreRequest } from '../../src/store.js'
import { fakeClock } from '../../src/testing/index.js'

/** Makes a policy with this limit; `scale` is its time scale in ms. */
type Make = (limit: number, scale: number) => Policy

/** All of them share a name. */
export const makers: Readonly<Record<string, Make>> = {
  'token bucket': (limit, scale) =>
    tokenBucket({ name: 'p', capacity: limit, refill: limit, every: scale }),
  gcra: (limit, scale) =>
    gcra({ name: 'p', burst: limit, limit: (limit * 10) / scale, period: 10 }),
  'fixed window': (limit, window) => fixedWindow({ name: 'p', limit, window }),
  'fixed window, aligned': (limit, window) =>
    fixedWindow({ name: 'p', limit, window, aligned: true }),
  'sliding log': (limit, window) => slidingLog({ name: 'p', limit, window }),
  'log and window': (limit, window) => {
    if (limit % 2 === 0) return slidingLog({ name: 'p', limit, window })
    return slidingWindow({ name: 'p', limit, window, parts: 2 + (limit % 7) })
  },
  'sliding counter': (limit, window) => slidingCounter({ name: 'p', limit, window }),
}

export interface ChangeRecipe {
  /** In ms. */
  readonly scales: readonly number[]
  readonly limits: readonly number[]
  /** How many times as many steps a window has as usual. */
  readonly pace: number
  readonly steps: readonly {
    /** How the clock moves before the step: by this many thousandths of the longest scale. */
    readonly by: number
    readonly scale: number
    readonly limit: number
    readonly cost: number
    readonly process: number
  }[]
}

const PROCESSES = 3

export const recipes: fc.Arbitrary<ChangeRecipe> = fc.record({
  scales: fc.uniqueArray(
    fc.oneof(fc.integer({ min: 100, max: 10_000 }), fc.constantFrom(1_000, 60_000)),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
  limits: fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 2, maxLength: 4 }),
  pace: fc.constantFrom(1, 1, 20),
  steps: fc.array(
    fc.record({
      by: fc.oneof(fc.constant(0), fc.constant(0), fc.nat(20), fc.nat(600)),
      scale: fc.nat(2),
      limit: fc.nat(3),
      cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 })),
      process: fc.nat(PROCESSES - 1),
    }),
    { minLength: 50, maxLength: 250, size: 'max' },
  ),
})

/** Requests units of the key from one of the processes. Returns whether they were granted. */
export type Ask = (
  process: number,
  request: StoreRequest,
  nowUs: number,
) => boolean | Promise<boolean>

/** Takes the steps, and compares what passes with the bound. Returns the number of steps. */
export async function takeChanges(
  recipe: ChangeRecipe,
  make: Make,
  ask: Ask,
  limiter: string = 'change',
): Promise<number> {
  const { scales, limits, pace, steps } = recipe
  const clock = fakeClock()
  const most = Math.max(...limits)
  const longest = Math.max(...scales)
  const counts = scales.map((scale) => new Alone(make(most, scale), clock))
  const policySets = scales.map((scale) =>
    limits.map((limit) => makePolicySet(limiter, [make(limit, scale)])),
  )
  for (const [place, { by, scale, limit, cost, process }] of steps.entries()) {
    clock.advance((by * longest) / pace / 1_000)
    for (const count of counts) count.takeAll()
    const which = scale % scales.length
    const policySet = policySets[which]?.[limit % limits.length] as PolicySet
    const count = counts[which] as Alone
    const target = { policySet, key: 'k' }
    const request = { mode: 'consume', target, costs: [cost], count: 1 } as const
    if (await ask(process, request, clock.nowUs())) count.mixed += cost
    const bound = count.taken + most
    assert.ok(
      count.mixed <= bound,
      `step ${place}: ${count.mixed} passed of ${bound} in ${scales[which]} ms`,
    )
  }
  return steps.length
}

/** The most generous policy alone, with a client that takes everything at every step. */
class Alone {
  /** What passes here. */
  taken = 0
  /** What passes where the settings change. */
  mixed = 0
  readonly #store: ReturnType<typeof memoryStore>
  readonly #policySet: PolicySet

  constructor(policy: Policy, clock: ReturnType<typeof fakeClock>) {
    this.#store = memoryStore({ clock })
    this.#policySet = makePolicySet('alone', [policy])
  }

  takeAll(): void {
    const target = { policySet: this.#policySet, key: 'k' }
    const { policies } = this.#store.decide({ mode: 'peek', target, costs: [0], count: 1 })
    const units = policies[0]?.remaining as number
    this.#store.decide({ mode: 'consume', target, costs: [units], count: 1 })
    this.taken += units
  }
}
