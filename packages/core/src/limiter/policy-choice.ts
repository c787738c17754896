// Which policies apply to a call: the call's own, the limiter's, or those that its policy function
// chooses for the key. If the function fails, its last choice for the key applies, or else what
// `whenPolicyFails` says.

import { traitsOf } from '../algorithms/modes.js'
import { unlimited } from '../algorithms/unlimited.js'
import { Recent } from '../base/cache.js'
import { quote, typeError, withPage } from '../base/errors.js'
import { nameOfKey } from '../base/key-name.js'
import { isPromise, whenKnown } from '../base/maybe-async.js'
import { warnOnce } from '../base/warnings.js'
import { LongKeyError, type PolicyInput } from '../policy-input.js'
import type { Mode } from '../store.js'
import { FAILED, type LimiterCounters } from './counters.js'
import type { DecideOptions, RateLimiterOptions } from './options.js'
import type { Resolved } from './policy-set.js'

const UNKNOWN = unlimited({ name: 'policy-failed' })
/** What holds where the policies are not known, and `whenPolicyFails` is `'allow'` or `'deny'`. */
export const ALLOWED: Resolved = { policySet: undefined, first: UNKNOWN, uses: [], costsOfOne: [] }
export const DENIED: Resolved = { policySet: undefined, first: UNKNOWN, uses: [], costsOfOne: [] }

interface Choosing extends Pick<RateLimiterOptions, 'policy' | 'whenPolicyFails'> {
  /** Name of the limiter. */
  readonly limiter: string
  /** Its policies, where no function chooses them. */
  readonly fixed: Resolved | undefined
  readonly resolve: (input: PolicyInput) => Resolved
  readonly counters: LimiterCounters
}

/**
 * @param own the call's own policy
 * @param method the method that the user calls, for messages
 */
export type PolicyChoice = (
  mode: Mode | 'reset',
  key: string,
  own: DecideOptions['policy'],
  method?: string,
) => Resolved | Promise<Resolved>

export function policyChoice(options: Choosing): PolicyChoice {
  const { limiter, policy, fixed, whenPolicyFails, resolve, counters } = options
  const otherwise = insteadOf(whenPolicyFails, resolve)
  /** What the policy function chose for the keys seen lately. */
  const chosen = new Recent<Resolved>(MAX_CHOSEN)

  function remembered(key: string, input: PolicyInput): Resolved {
    const resolved = resolve(input)
    chosen.set(nameOfKey(key), resolved)
    return resolved
  }

  /** What holds if the function threw or returned no policy: never "unlimited". */
  function lastGood(mode: Mode | 'reset', key: string, cause: unknown): Resolved {
    if (cause instanceof LongKeyError) throw cause
    const problem = `the policy function of limiter "${limiter}" failed: ${quote(cause)}`
    const resolved = chosen.get(nameOfKey(key))
    if (resolved !== undefined) {
      warnOnce('WEIR_POLICY_FAILED', limiter, `${problem}; its last policy for a key is used`)
      return resolved
    }
    const { judges, takes } = traitsOf(mode)
    if (judges && otherwise !== undefined) {
      warnOnce('WEIR_POLICY_FAILED', limiter, `${problem}; whenPolicyFails says what applies`)
      return otherwise
    }
    if (judges && takes) counters.count(FAILED)
    const right = 'fix it, or set whenPolicyFails'
    const message = `${problem}, and never chose a policy for this key; ${right}`
    const code = 'WEIR_POLICY_FAILED'
    throw Object.assign(new Error(withPage(code, message), { cause }), { code })
  }

  return (mode, key, own, method = mode) => {
    if (own === undefined && fixed !== undefined) return fixed
    if (own !== undefined && typeof own !== 'function') return resolve(own)
    const choose = own ?? (policy as (key: string) => PolicyInput | Promise<PolicyInput>)
    if (choose === policyOfRequests) policyOfRequests(key, limiter, method)
    const failed = (error: unknown): Resolved => lastGood(mode, key, error)
    try {
      const resolved = whenKnown(choose(key), (input) => remembered(key, input))
      return isPromise(resolved) ? resolved.catch(failed) : resolved
    } catch (error) {
      return failed(error)
    }
  }
}

const MAX_CHOSEN = 10_000

/** What holds for a key for which the policy function has never chosen. */
function insteadOf(
  when: RateLimiterOptions['whenPolicyFails'],
  resolve: Choosing['resolve'],
): Resolved | undefined {
  if (when === undefined) return undefined
  if (when === 'deny') return DENIED
  return when === 'allow' ? ALLOWED : resolve(when)
}

/** Stands in for a policy that is a function of the request: each call must bring one. */
export function policyOfRequests(_key: string, limiter = '', method = 'consume'): never {
  const why = `limiter "${limiter}" takes its policy from each request, so a key alone does not tell`
  const right = `give the policy as well: ${method}(key, { policy })`
  const byLimit = 'where limit and window choose it, it is slidingWindow({ name, limit, window })'
  const problem = `${why} which counters are meant; ${right}; ${byLimit} with the limiter's name`
  throw typeError('WEIR_INVALID_POLICY', problem)
}
