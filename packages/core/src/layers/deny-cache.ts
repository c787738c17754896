// Answers requests like one that was denied a moment ago, without asking the store again. A denied
// request changes nothing, and only a refund, a reset, the end of a block by `unblock` or a changed
// limit lets it pass before its wait is over. Such a change shows at once if it is made through
// this store, and within a second if it is made elsewhere. So do units taken meanwhile, which leave
// less and make waits longer; denials of other classes stay, for that second.
//
// A denial is repeated no longer than the store would deny. Its end is the earliest instant at
// which the wait can be over: the store rounds waits up to whole ms, and the wait is counted from
// when the store was asked, not from when it decided. There is one exception: if the store's clock
// steps back, which this process does not learn, the key may be refused for up to a second longer
// than the store would.

import { traitsOf } from '../algorithms/modes.js'
import { perName, Recent } from '../base/cache.js'
import type { Clock } from '../base/clock.js'
import { idOf } from '../base/key-text.js'
import type { Time } from '../base/time.js'
import type { Layer, LayerRequest, Pending } from '../layer.js'
import { isSameUnits, MadeBlockResult, MadePolicyResult, MadeResult } from '../request.js'
import type { PolicyResult, PolicySet, StoreResult, Target } from '../store.js'

const MAX_AGE_US = 1_000_000
/** For each limiter. */
const MAX_KEYS = 20_000
/** For each key; beyond it, the earlier ones are forgotten. */
const MAX_CLASSES = 16
/** A shorter wait ends before it would spare a request; rounding it up could halve a rate. */
const LEAST_WAIT_MS = 2

export interface DenyCacheOptions {
  readonly time: Time
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
}

export function withDenyCache(next: Layer, options: DenyCacheOptions): Layer {
  // One for all policy sets of a limiter, so that a change under one shows under the others.
  const { of: denialsOf } = perName(() => new Denials(options))
  return {
    ask(request, pending) {
      const { mode, target, atLeast } = request
      const denials = denialsOf(target.policySet)
      const id = idOf(target)
      // The store answers requests that wait, and those that take as many units as there are.
      const known = atLeast === undefined ? denials.answer(id, request) : undefined
      if (known !== undefined) pending.decided(known)
      else if (!traitsOf(mode).changes) next.ask(request, pending)
      else {
        if (mode === 'reset') denials.changed(id, target)
        next.ask(request, new Noting(denials, id, request, pending))
      }
    },
  }
}

/** Waits for the store's answer and notes it. */
class Noting implements Pending {
  readonly denials: Denials
  readonly id: string
  readonly request: LayerRequest
  readonly pending: Pending

  constructor(denials: Denials, id: string, request: LayerRequest, pending: Pending) {
    this.denials = denials
    this.id = id
    this.request = request
    this.pending = pending
  }

  decided(result: StoreResult): void {
    this.denials.noted(this.id, this.request, result)
    this.pending.decided(result)
  }

  failed(error: unknown): void {
    // The store may have done the reset all the same, after denying what was sent meanwhile.
    if (this.request.mode === 'reset') this.denials.changed(this.id, this.request.target)
    this.pending.failed(error)
  }
}

class Denial {
  readonly policySet: PolicySet
  /** What must remain for others: each class has its own denials. */
  readonly keep: readonly number[] | undefined
  readonly costs: readonly number[]
  readonly result: StoreResult
  /** When it was read. Waits are counted down from here, so that none is too short. */
  readonly atUs: number
  /** Until then, exclusive, the store would deny. */
  readonly untilUs: number
  /** The denial of another class of the same key. */
  next: Denial | undefined

  constructor(
    policySet: PolicySet,
    keep: readonly number[] | undefined,
    costs: readonly number[],
    result: StoreResult,
    atUs: number,
    untilUs: number,
    next: Denial | undefined,
  ) {
    this.policySet = policySet
    this.keep = keep
    this.costs = costs
    this.result = result
    this.atUs = atUs
    this.untilUs = untilUs
    this.next = next
  }
}

class Denials {
  /** By target, the denial of its first class; `next` leads to the others. */
  #denials: Recent<Denial> = new Recent(MAX_KEYS)
  /** Whether a denial may concern policies with policy keys. */
  #hasPolicyKeys = false
  /** When units were last given back or forgotten. */
  #changedMs = Number.NEGATIVE_INFINITY
  readonly #options: DenyCacheOptions

  constructor(options: DenyCacheOptions) {
    this.#options = options
  }

  /** What the store would answer; undefined: it must be asked. Answers only requests with the same
   *  costs and the same `keep` as the denied one. */
  answer(id: string, { mode, target, costs, count, keep }: LayerRequest): StoreResult | undefined {
    if (mode !== 'consume' || this.#denials.isEmpty || count !== 1) return undefined
    let denial = this.#denials.get(id)
    while (denial !== undefined && !isSameUnits(denial.keep, keep)) denial = denial.next
    if (denial === undefined || denial.policySet !== target.policySet) return undefined
    if (!isSameUnits(denial.costs, costs)) return undefined
    const { clock, time } = this.#options
    const nowUs = clock?.nowUs() ?? time.nowMs() * 1_000
    if (nowUs >= denial.untilUs || nowUs < denial.atUs) return undefined
    return later(denial.result, Math.floor(nowUs - denial.atUs))
  }

  /** Remembers a denial by the store; after a change of what is left, forgets the denials that it
   *  concerns. */
  noted(id: string, request: LayerRequest, result: StoreResult): void {
    const { mode, target, atLeast } = request
    const { judges, frees } = traitsOf(mode)
    if (frees) this.changed(id, target)
    else if (result.granted > 0) {
      if (!this.#denials.isEmpty) this.#taken(id, judges ? request : undefined)
    } else if (judges && atLeast === undefined) this.#remember(id, request, result)
  }

  /**
   * Less is left now, so denied requests of the class have longer to wait. Denials of other classes
   * stay: otherwise, each request that passes in a higher class would send a lower class's requests
   * to the store.
   */
  #taken(id: string, ofClass: Pick<LayerRequest, 'keep'> | undefined): void {
    const others = ofClass && without(this.#denials.get(id), ofClass.keep)
    if (others === undefined) this.#denials.delete(id)
    else this.#denials.set(id, others)
  }

  /**
   * Units were given back or forgotten. Requests on their way may have been denied before or after
   * that. Any of the limiter's targets may share a policy key, so if there is one, all denials are
   * forgotten.
   */
  changed(id: string, { policyKeys }: Target): void {
    this.#changedMs = this.#options.time.nowMs()
    if (this.#denials.isEmpty) return
    if (policyKeys === undefined && !this.#hasPolicyKeys) {
      this.#denials.delete(id)
      return
    }
    this.#denials = new Recent(MAX_KEYS)
    this.#hasPolicyKeys = false
  }

  #remember(id: string, { target, costs, keep }: LayerRequest, result: StoreResult): void {
    const { sentAtMs } = result
    // Not the store's own answer, or perhaps older than a change.
    if (sentAtMs === undefined || result.source !== 'store' || sentAtMs <= this.#changedMs) return
    let waitMs = Number.POSITIVE_INFINITY
    for (const { policy, retryAfterMs, resetAfterMs } of result.policies) {
      // Units may come back at any moment.
      if (retryAfterMs > 0 && policy.kernel?.traits.isHint) return
      if (retryAfterMs > 0) waitMs = Math.min(waitMs, retryAfterMs)
      // What a result says about a window holds only until the window ends, even if another policy
      // denies for longer.
      if (policy.kernel?.traits.hasOneEnd && resetAfterMs > 0)
        waitMs = Math.min(waitMs, resetAfterMs)
    }
    if (waitMs < LEAST_WAIT_MS) return
    const { clock, time } = this.#options
    const sentUs = clock === undefined ? sentAtMs * 1_000 : result.nowUs
    const atUs = clock === undefined ? time.nowMs() * 1_000 : result.nowUs
    // The store rounds waits up, so it denies for certain until one ms before the end of the wait.
    // One us more includes that instant itself.
    const untilUs = sentUs + Math.min(MAX_AGE_US, (waitMs - 1) * 1_000 + 1)
    const { policySet, policyKeys } = target
    const others = without(this.#denials.get(id), keep)
    const next = lengthOf(others) < MAX_CLASSES ? others : undefined
    this.#denials.set(id, new Denial(policySet, keep, costs, result, atUs, untilUs, next))
    if (policyKeys !== undefined) this.#hasPolicyKeys = true
  }
}

/** A key's denials, without those of one class. */
function without(
  first: Denial | undefined,
  keep: readonly number[] | undefined,
): Denial | undefined {
  if (first === undefined) return undefined
  if (isSameUnits(first.keep, keep)) return first.next
  first.next = without(first.next, keep)
  return first
}

function lengthOf(first: Denial | undefined): number {
  return first === undefined ? 0 : 1 + lengthOf(first.next)
}

/** The result as it would be `us` later: all waits are shorter. */
function later({ nowUs, untilUs, policies: before }: StoreResult, us: number): StoreResult {
  const ms = Math.floor(us / 1_000)
  const policies = new Array<PolicyResult>(before.length)
  for (let i = 0; i < before.length; i += 1) policies[i] = shorter(before[i] as PolicyResult, ms)
  return new MadeResult(0, nowUs + us, untilUs, policies, 'cache', undefined)
}

/** Written out: a copy by `...` takes a third longer, and floods of refused requests end here. */
function shorter(
  { policy, cost, limit, remaining, retryAfterMs, resetAfterMs, block }: PolicyResult,
  ms: number,
): PolicyResult {
  const result = new MadePolicyResult(
    policy,
    cost,
    limit,
    remaining,
    Math.max(0, retryAfterMs - ms),
    Math.max(0, resetAfterMs - ms),
  )
  // An earlier request began the block.
  return block === undefined ? result : new MadeBlockResult(result, { ...block, hasBegun: false })
}
