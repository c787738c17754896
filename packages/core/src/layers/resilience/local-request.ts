// What of a request is done in this process where the store does not do it.

import { traitsOf } from '../../algorithms/modes.js'
import type { LayerRequest } from '../../layer.js'

/** Whether a request concerns only what the store itself holds, so that nothing else answers it. */
export function isAboutStore({ mode, isForStore }: LayerRequest): boolean {
  return isForStore === true || traitsOf(mode).isForStore
}

/**
 * What a settlement gives back is given back in the store alone; and what the store may have given
 * back is not given back a second time.
 * @param mayBeDone whether the store may have done it, though it has not said so
 */
export function localRequest(request: LayerRequest, mayBeDone: boolean): LayerRequest {
  const { takes, gives, givesOnly } = traitsOf(request.mode)
  if (takes && gives) return chargeOf(request)
  return givesOnly && mayBeDone
    ? { ...chargeOf(request), costs: request.costs.map(() => 0) }
    : request
}

/** What a request charges, without what it gives back. */
export function chargeOf({ target, costs, count, deadlineAtMs }: LayerRequest): LayerRequest {
  const charged = costs.map((cost) => Math.max(0, cost))
  return { mode: 'penalty', target, costs: charged, count, deadlineAtMs }
}
