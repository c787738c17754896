// Requests as limiters make them.

import { nameOfKey } from '../base/key-name.js'
import type { PolicyUse } from '../policy-input.js'
import { MadeTarget, partOfTarget } from '../request.js'
import type { Mode, PolicySet, StoreRequest, Target } from '../store.js'
import type { Resolved } from './policy-set.js'

/** A request of a limiter: with the policies as they were given, where that says more. */
export type LimiterRequest<Of extends StoreRequest = StoreRequest> = Of & {
  readonly uses?: readonly PolicyUse[] | undefined
  /** The key as it was given; the target has the key's name. */
  readonly key?: string | undefined
  /** The class, from which `keep` follows. */
  readonly priority?: string | undefined
}

/** A class: see those of request.ts. */
class MadeRequest {
  readonly mode: Mode
  readonly target: Target
  readonly costs: readonly number[]
  readonly count = 1
  readonly uses: readonly PolicyUse[] | undefined
  readonly key: string

  constructor(
    mode: Mode,
    target: Target,
    costs: readonly number[],
    uses: readonly PolicyUse[] | undefined,
    key: string,
  ) {
    this.mode = mode
    this.target = target
    this.costs = costs
    this.uses = uses
    this.key = key
  }
}

/** A request that costs these units of each policy. */
export function requestOf<Request extends StoreRequest = StoreRequest>(
  mode: Request['mode'],
  key: string,
  costs: readonly number[],
  { uses, policyKeys }: Resolved,
  policySet: PolicySet,
): LimiterRequest<Request> {
  const target = new MadeTarget(policySet, nameOfKey(key), policyKeys)
  const made: object = new MadeRequest(mode, target, costs, uses, key)
  return made as LimiterRequest<Request>
}

/** The counters of a key: those without a policy key, and those whose policy key it is. Undefined:
 *  there are none. */
export function countersOfKey(
  { policySet, policyKeys }: Resolved,
  key: string,
): Target | undefined {
  if (policySet === undefined) return undefined
  const name = nameOfKey(key)
  const places = [...policySet.policies.keys()]
  const ofKey = places.filter((i) => (policyKeys?.[i]?.key ?? name) === name)
  if (ofKey.length === 0) return undefined
  return partOfTarget({ policySet, key: name, policyKeys }, ofKey)
}
