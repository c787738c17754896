// Reports when usage crosses a share of a limit (`notifyAt`): a request that takes units finds it
// below the share, and leaves it at the share or above. What is used before and after follows from
// one atomic decision, so each crossing is in exactly one answer of the store. It is reported as
// soon as that answer is read, whoever awaits it.

import type { Reading } from './algorithms/driver.js'
import { traitsOf } from './algorithms/modes.js'
import type { Policy } from './algorithms/policy.js'
import type { Mode, PolicyResult, PolicySet, StoreRequest } from './store.js'

/** Usage of a key has reached a share of a policy's limit, as `onCrossing` and the channel
 *  `weir:crossing` report it. */
export interface Crossing {
  /** Name of the limiter. */
  readonly limiter: string
  /** The policy, with the limit that it had then. */
  readonly policy: Policy
  /** Who is limited by it: the policy key, or the key of the call. A key of over 256 characters is
   *  `#` and its SHA-256. */
  readonly key: string
  /** The share: one of the policy's `notifyAt`. */
  readonly share: number
  /** Units in use then, but at most the limit. */
  readonly used: number
}

/** A policy set of a limiter. Crossings of other sets are not reported. */
export type TellingSet = PolicySet & {
  /** Undefined: none of its policies has a `notifyAt`. */
  readonly tell?: ((crossing: Crossing) => void) | undefined
}

/** What is read of a request to make its result. */
export type AnsweredRequest = Pick<StoreRequest, 'target' | 'costs'> & {
  readonly mode: Mode | 'reset'
}

/** Reports what a request has crossed, and puts it into the results of its policies. */
export function noteCrossings(
  { mode, target, costs }: AnsweredRequest,
  granted: number,
  readings: readonly Reading[],
  policies: PolicyResult[],
  tell: NonNullable<TellingSet['tell']>,
): void {
  const { judges, raises } = traitsOf(mode)
  if (!raises) return
  for (let i = 0; i < policies.length; i += 1) {
    const each = policies[i] as PolicyResult
    const { policy, limit } = each
    if (policy.notifyAt === undefined) continue
    const { left, used } = readings[i] as Reading
    const units = granted * (costs[i] as number)
    // Redis does not say what was used before a plain request, which leaves nothing to others.
    const before = used ?? limit - left - units
    // What is not judged may pass the limit: how far does not matter, as no share is above it.
    const after = judges ? before + units : limit - left
    if (before >= after) continue
    let crossed: number[] | undefined
    for (let at = 0; at < policy.notifyAt.length; at += 1) {
      const share = policy.notifyAt[at] as number
      const least = unitsOf(share, limit)
      if (least > after) break
      if (before >= least) continue
      crossed ??= []
      crossed.push(share)
    }
    if (crossed === undefined) continue
    policies[i] = { ...each, crossed }
    const key = target.policyKeys?.[i]?.key ?? target.key
    const of = { limiter: target.policySet.name, policy, key, used: Math.min(limit, after) }
    for (const share of crossed) tell(Object.freeze<Crossing>({ ...of, share }))
  }
}

/** The fewest units that are a share of a limit: 7 of 10 at 0.7, although 0.7 * 10 is above 7 as a
 *  double. */
function unitsOf(share: number, limit: number): number {
  return Math.ceil(share * limit * (1 - 2 ** -51))
}
