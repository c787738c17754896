// The checks of a limiter's options, and of its calls' options.

import { traitsOf } from '../algorithms/modes.js'
import { checkedName } from '../algorithms/policy.js'
import { invalid } from '../base/errors.js'
import {
  type Checks,
  checkAll,
  checkedOptions,
  ofType,
  unchecked,
  wholeNumber,
} from '../base/options.js'
import { checkStore, checkWhen } from '../request.js'
import type { Mode } from '../store.js'
import type { DecideOptions, RateLimiterOptions } from './options.js'
import { checkReserve } from './priority.js'

export const OPTION_CHECKS: Checks<RateLimiterOptions> = {
  name: (name) => checkedName(name as string, 'limiter name'),
  store: checkStore,
  policy: unchecked,
  whenPolicyFails: checkWhenPolicyFails,
  whenUnavailable: checkWhen,
  onDecision: ofType('function'),
  onCrossing: ofType('function'),
  shared: unchecked,
  maxWaiting: (given) =>
    checkAll(given as object, 'maxWaiting', {
      perKey: wholeNumber(0, 1_000_000),
      total: wholeNumber(0, 1_000_000),
    }),
  reserve: checkReserve,
}

export const CLOSE_CHECKS: Checks<{ slots: unknown }> = {
  slots: (given) => {
    if (given === 'drain' || given === 'expire') return
    throw invalid('WEIR_INVALID_OPTION', 'slots', given, "'drain' or 'expire'")
  },
}

function checkWhenPolicyFails(given: unknown): void {
  if (given === 'deny' || given === 'allow' || (typeof given === 'object' && given !== null)) return
  throw invalid('WEIR_INVALID_OPTION', 'whenPolicyFails', given, "'deny', 'allow' or a policy")
}

/** Written out: the methods of a list of names would take a tenth of a decision in memory. */
export function checkCallOptions(options: DecideOptions, mode: Mode): void {
  const takesClass = traitsOf(mode).judges
  let isKnown = typeof options === 'object' && options !== null
  for (const name in options)
    isKnown &&= name === 'cost' || name === 'policy' || (takesClass && name === 'priority')
  if (isKnown) return
  checkedOptions(options, `${mode}()`, ['cost', 'policy', ...(takesClass ? ['priority'] : [])])
}

export function checkSignal(signal: AbortSignal): void {
  const needed = ['addEventListener', 'removeEventListener', 'throwIfAborted'] as const
  const given: Partial<AbortSignal> = signal ?? {}
  if (needed.every((name) => typeof given[name] === 'function')) return
  throw invalid('WEIR_INVALID_OPTION', 'signal', signal, 'an AbortSignal')
}
