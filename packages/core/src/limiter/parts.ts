// What a limiter is made of: made once, from its options, and shared by all its methods.

import { checkAll } from '../base/options.js'
import type { Time } from '../base/time.js'
import { type Layer, layerOf } from '../layer.js'
import { memoryStoreIn } from '../memory/store.js'
import type { Store } from '../store.js'
import { countSlots, LimiterCounters, SLOTS_EXPIRED } from './counters.js'
import { warnOfNamesake } from './namesakes.js'
import { OPTION_CHECKS } from './option-checks.js'
import type { RateLimiterOptions } from './options.js'
import { type PolicyChoice, policyChoice } from './policy-choice.js'
import { adaptiveOf, checkHasEffect, type Resolved, resolver } from './policy-set.js'
import { Priorities } from './priority.js'
import { Holds } from './slots/holds.js'
import type { Releasing } from './slots/slots.js'
import { type Waiting, waitingOf } from './waiting.js'

export interface LimiterParts {
  readonly name: string
  readonly store: Store
  readonly layer: Layer
  /** Its policies, where no function chooses them. */
  readonly fixed: Resolved | undefined
  readonly policiesFor: PolicyChoice
  readonly priorities: Priorities
  readonly waiting: Waiting
  readonly releasing: Releasing
  readonly holds: Holds
  readonly counters: LimiterCounters
  readonly onDecision: RateLimiterOptions['onDecision']
  isEnabled: boolean
  isClosed: boolean
}

/** @throws {TypeError | RangeError} as `RateLimiter` says */
export function partsOf(options: RateLimiterOptions, time: Time): LimiterParts {
  checkAll(options, 'RateLimiter', OPTION_CHECKS)
  const { store = memoryStoreIn(time), policy, whenPolicyFails, whenUnavailable, reserve } = options
  const { name = 'default', onDecision, maxWaiting } = options
  const { perKey = 1_000, total = 10_000 } = maxWaiting ?? {}
  const owner = { limiter: name, isNamed: options.name !== undefined, store }
  const counters = new LimiterCounters()
  const priorities = new Priorities(reserve)
  if (reserve !== undefined) counters.addClasses(priorities.names)
  counters.onCrossing = options.onCrossing
  checkHasEffect(whenUnavailable, owner)
  const resolve = resolver({ ...owner, whenUnavailable, counters })
  const fixed = typeof policy === 'function' ? undefined : resolve(policy)
  const choosing = { limiter: name, policy, fixed, whenPolicyFails, resolve, counters }
  if (typeof policy === 'function') counters.adaptive = adaptiveOf(policy, owner)
  if (fixed !== undefined && !options.shared) warnOfNamesake(fixed, store)
  const layer = layerOf(store)
  const reserves = store.reserves === true
  const waiting = waitingOf({ layer, time, maxWaiting: { perKey, total }, reserves })
  const releasing = { layer, freed: waiting.freed }
  return {
    name,
    store,
    layer,
    fixed,
    policiesFor: policyChoice(choosing),
    priorities,
    waiting,
    releasing,
    holds: new Holds(releasing, time, ({ of }) => countSlots(of, SLOTS_EXPIRED, 1)),
    counters,
    onDecision,
    isEnabled: true,
    isClosed: false,
  }
}
