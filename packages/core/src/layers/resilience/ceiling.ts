// While a node is half-open, other processes may still grant their local quotas, which the store
// has not counted. So this process's quota stays a ceiling: memory is asked first, and then the
// store. If the store grants less, the difference is given back in memory, and memory repeats all
// else that the store does.

import { traitsOf } from '../../algorithms/modes.js'
import type { LayerRequest, Pending } from '../../layer.js'
import type { StoreResult } from '../../store.js'
import { type Fallback, withLocalNames } from './fallback.js'
import type { Seen } from './last-seen.js'

/** A request that is on its way to the store while a quota is a ceiling. */
export class UnderCeiling implements Pending {
  /** What the store is asked: no more than memory grants. */
  readonly request: LayerRequest
  /** Memory's denial; undefined: memory does not deny, and the store is asked. */
  readonly denial: StoreResult | undefined
  readonly #fallback: Fallback
  /** What memory has said of it; undefined: it was not asked. */
  readonly #held: StoreResult | undefined
  readonly #pending: Pending

  /** @param seen what was last seen of its target before the store was back */
  constructor(fallback: Fallback, request: LayerRequest, seen: Seen | undefined, pending: Pending) {
    const { mode, count } = request
    const held = traitsOf(mode).judges ? fallback.underCeiling(request, seen) : undefined
    const granted = mode === 'consume' ? (held?.granted ?? count) : count
    this.request = granted < count ? { ...request, count: granted } : request
    this.denial = granted === 0 ? held : undefined
    this.#fallback = fallback
    this.#held = held
    this.#pending = pending
  }

  decided(result: StoreResult): void {
    if (this.#held === undefined) {
      this.#fallback.mirror(withLocalNames(this.request))
      this.#pending.decided(result)
      return
    }
    this.#giveBack(this.#held, this.#held.granted - result.granted)
    const granted = lesser(result, this.#held)
    const isTurn = this.request.maxWaitMs !== undefined && granted.granted > 0
    this.#pending.decided(
      isTurn ? { ...granted, untilUs: laterTurn(granted, this.#held) } : granted,
    )
  }

  failed(error: unknown): void {
    this.withoutStore().failed(error)
  }

  /** The request is decided anew, without the store. Returns who waits for the decision. */
  withoutStore(): Pending {
    if (this.#held !== undefined) this.#giveBack(this.#held, this.#held.granted)
    return this.#pending
  }

  #giveBack({ untilUs }: StoreResult, times: number): void {
    const { mode, target, costs, maxWaitMs } = this.request
    if (mode !== 'consume' || times <= 0) return
    this.#fallback.mirror({
      mode: maxWaitMs === undefined ? 'refund' : 'cancel',
      target,
      costs: costs.map((cost) => times * cost),
      count: 1,
      untilUs,
    })
  }
}

/** What the store has granted, with no more left than memory has. A denial stays the store's. */
function lesser(result: StoreResult, held: StoreResult): StoreResult {
  if (result.granted === 0) return result
  const policies = result.policies.map((each, i) => {
    const { remaining, retryAfterMs } = held.policies[i] ?? each
    return remaining < each.remaining ? { ...each, remaining, retryAfterMs } : each
  })
  return { ...result, granted: Math.min(result.granted, held.granted), policies }
}

/** The later of a bucket's two turns, as the time until which its units count. */
function laterTurn({ untilUs, nowUs }: StoreResult, held: StoreResult): number[] {
  return untilUs.map((us, i) => Math.max(us, nowUs + (held.untilUs[i] as number) - held.nowUs))
}
