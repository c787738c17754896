// Requests as limiters make them.

import { nameOfKey } from '../base/key-name.js'
import type { PolicyUse } from '../policy-input.js'
import { MadeTarget, partOfTarget } from '../request.js'
import type { Mode, PolicySet, StoreRequest, Target } from '../store.js'
import type { Resolved } from './policy-set.js'

/** A request of a limiter. */
export type LimiterRequest<Of extends StoreRequest = StoreRequest> = Of & {
  /** The policies as they were given. */
  readonly uses?: readonly PolicyUse[] | undefined
  /** The key as it was given; the target has the key's name. */
  readonly key?: string | undefined
  /** The class, from which `keep` follows. */
  readonly priority?: string | undefined
}

/** A request that costs these units of each policy. A class: see those of request.ts. */
export class MadeRequest<RequestMode extends Mode> {
  readonly mode: RequestMode
  readonly target: Target
  readonly costs: readonly number[]
  readonly count = 1
  readonly uses: readonly PolicyUse[]
  readonly key: string

  constructor(
    mode: RequestMode,
    key: string,
    costs: readonly number[],
    { uses, policyKeys }: Resolved,
    policySet: PolicySet,
  ) {
    this.mode = mode
    this.target = new MadeTarget(policySet, nameOfKey(key), policyKeys)
    this.costs = costs
    this.uses = uses
    this.key = key
  }
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
