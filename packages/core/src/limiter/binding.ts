// The binding rule: which of several policies, or of several decisions, the client sees.

import type { PolicyResult } from '../store.js'

/** The place of the result that binds: for a denied request, one that denied it. Of equal results,
 *  the first binds. */
export function bindingPlace(results: readonly PolicyResult[], isDenied: boolean): number {
  let place = 0
  for (let i = 1; i < results.length; i += 1) {
    const binding = results[place] as PolicyResult
    const other = results[i] as PolicyResult
    const denies = isDenied && isViolated(other)
    if (bindsMore(other, denies, binding, isDenied && isViolated(binding))) place = i
  }
  return place
}

/** True if a policy denied the request. */
export function isViolated({ remaining, cost }: PolicyResult): boolean {
  return remaining < cost
}

/** What the rule compares: results of policies, or whole decisions. */
type Comparable = Pick<PolicyResult, 'limit' | 'remaining'> & {
  readonly retryAfterMs?: number | undefined
}

/**
 * True if `one` says more than `other` about what the client may do. A result that denied the
 * request goes before one that did not, then the longer wait before the shorter. If nothing was
 * denied, the smaller share goes before the larger.
 */
export function bindsMore(
  one: Comparable,
  oneDenies: boolean,
  other: Comparable,
  otherDenies: boolean,
): boolean {
  if (oneDenies !== otherDenies) return oneDenies
  if (oneDenies) return (one.retryAfterMs ?? 0) > (other.retryAfterMs ?? 0)
  return shareOf(one) < shareOf(other)
}

/** The fraction of a limit that is left. A limit of 0 has nothing left. */
function shareOf({ limit, remaining }: Comparable): number {
  if (limit === Number.POSITIVE_INFINITY) return 1
  return limit > 0 ? remaining / limit : 0
}
