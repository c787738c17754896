// The steps of a walk: random ones, which fast-check reduces when they find a failure.

import fc from 'fast-check'
import { DEADLINE_MS, type Fault } from './line.js'
import { WINDOW_MS } from './usage.js'

export const KEYS = ['a', 'b'] as const

export interface Request {
  readonly key: (typeof KEYS)[number]
  readonly cost: number
  readonly mode: 'consume' | 'penalty' | 'peek'
}

export type Step =
  | {
      readonly do: 'ask'
      readonly at: 'once' | 'one by one'
      readonly requests: readonly Request[]
    }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'fault'; readonly fault: Fault }
  | { readonly do: 'reset'; readonly key: (typeof KEYS)[number] }

const request: fc.Arbitrary<Request> = fc.record({
  key: fc.constantFrom(...KEYS),
  cost: fc.oneof(
    { weight: 4, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 4 }) },
  ),
  mode: fc.oneof(
    { weight: 10, arbitrary: fc.constant('consume' as const) },
    { weight: 1, arbitrary: fc.constant('penalty' as const) },
    { weight: 1, arbitrary: fc.constant('peek' as const) },
  ),
})

function asked(
  at: fc.Arbitrary<'once' | 'one by one'>,
  minLength: number,
  maxLength: number,
): fc.Arbitrary<Step> {
  return fc.record({
    do: fc.constant('ask' as const),
    at,
    requests: fc.array(request, { minLength, maxLength }),
  })
}

function waited(min: number, max: number): fc.Arbitrary<Step> {
  return fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min, max }) })
}

function faulty(...faults: Fault[]): fc.Arbitrary<Step> {
  return fc.record({ do: fc.constant('fault' as const), fault: fc.constantFrom(...faults) })
}

const either = fc.constantFrom('once' as const, 'one by one' as const)
const several = asked(either, 1, 6)
const ALL_FAULTS = ['hang', 'mute', 'slow', 'refuse', 'reset', 'down'] as const

/** Any step after any other. */
const anyStep: fc.Arbitrary<Step[]> = fc
  .oneof(
    { weight: 8, arbitrary: several },
    { weight: 3, arbitrary: waited(1, 40) },
    { weight: 3, arbitrary: waited(DEADLINE_MS, DEADLINE_MS) },
    { weight: 3, arbitrary: waited(41, 1_200) },
    { weight: 1, arbitrary: waited(WINDOW_MS, WINDOW_MS) },
    { weight: 5, arbitrary: faulty('none', 'none', 'none', ...ALL_FAULTS) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('reset' as const), key: fc.constantFrom(...KEYS) }),
    },
  )
  .map((one) => [one])

/** Long enough for the breaker to open; then something happens while it is open, and while it is
 *  half-open. */
const wholeOutage: fc.Arbitrary<Step[]> = fc.tuple(
  faulty('hang', 'mute', 'refuse', 'down'),
  asked(fc.constant('one by one'), 5, 7),
  waited(DEADLINE_MS, DEADLINE_MS),
  several,
  faulty('none', 'slow', 'slow'),
  waited(50, 700),
  several,
  faulty('none', 'slow', 'mute', 'down'),
  waited(1, 80),
  several,
)

export const someSteps: fc.Arbitrary<Step[]> = fc
  .array(fc.oneof({ weight: 5, arbitrary: anyStep }, { weight: 1, arbitrary: wholeOutage }), {
    minLength: 1,
    maxLength: 24,
  })
  .map((parts) => parts.flat())
