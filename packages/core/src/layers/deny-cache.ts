// Answers requests that were denied a moment ago, without asking the store again. A denied request
// changes nothing, and nothing but a refund, a reset or other numbers lets it pass before its wait
// is over. Such a change made through this store shows once it is done, one made elsewhere within a
// second. So it is with what is taken, which leaves less and makes waits longer.
//
// No denial is remembered for longer than the store would deny: its end is counted from when the
// store was asked, which is before it decided, and is where the wait, which is rounded up to whole
// ms, is over at the earliest. Only if the store's clock has stepped back, of which nobody here
// hears, is the key refused for that much longer.

import { traitsOf } from '../algorithms/modes.js'
import { perName, Recent } from '../base/cache.js'
import type { Clock } from '../base/clock.js'
import { idOf } from '../base/key-text.js'
import type { Time } from '../base/time.js'
import type { Layer, LayerRequest, Pending } from '../layer.js'
import { isSameKeep, MadeBlockResult, MadePolicyResult, MadeResult } from '../request.js'
import type { PolicyResult, PolicySet, StoreResult, Target } from '../store.js'

const MAX_AGE_US = 1_000_000
/** For each limiter. */
const MAX_KEYS = 20_000
/** Of a key; of more, those before are forgotten. */
const MAX_CLASSES = 16
/** A shorter wait is over before it would spare a request; rounding it up could halve a rate. */
const LEAST_WAIT_MS = 2

export interface DenyCacheOptions {
  readonly time: Time
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
}

export function withDenyCache(next: Layer, options: DenyCacheOptions): Layer {
  // One for all policy sets of a limiter, so that what is done under one shows under the others.
  const { of: denialsOf } = perName(() => new Denials(options))
  return {
    ask(request, pending) {
      const { mode, target, atLeast } = request
      const denials = denialsOf(target.policySet)
      const id = idOf(target)
      // Who waits, or takes as much as there is, is answered by the store.
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

/** Waits for the store, and notes what it says. */
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
    // Nobody knows whether a reset was done.
    if (this.request.mode === 'reset') this.denials.changed(this.id, this.request.target)
    this.pending.failed(error)
  }
}

class Denial {
  readonly policySet: PolicySet
  /** What must remain: classes are denied apart from each other. */
  readonly keep: readonly number[] | undefined
  readonly costs: readonly number[]
  readonly result: StoreResult
  /** When it was read: its waits are counted down from here, so that none is too short. */
  readonly atUs: number
  /** Up to here, and not including it, the store would deny. */
  readonly untilUs: number
  /** That of another class of the same key and policy set. */
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
  /** By the target, the first of its classes. */
  #denials: Recent<Denial> = new Recent(MAX_KEYS)
  /** Whether a denial may concern policies with policy keys. */
  #hasPolicyKeys = false
  /** When units were last given back or forgotten. */
  #changedMs = Number.NEGATIVE_INFINITY
  readonly #options: DenyCacheOptions

  constructor(options: DenyCacheOptions) {
    this.#options = options
  }

  /** What the store would answer; undefined: it must be asked. Only a request of the same costs, of
   *  which as much must remain. */
  answer(id: string, { mode, target, costs, count, keep }: LayerRequest): StoreResult | undefined {
    if (mode !== 'consume' || this.#denials.isEmpty || count !== 1) return undefined
    let denial = this.#denials.get(id)
    while (denial !== undefined && !isSameKeep(denial.keep, keep)) denial = denial.next
    if (denial === undefined || denial.policySet !== target.policySet) return undefined
    for (let i = 0; i < costs.length; i += 1) if (denial.costs[i] !== costs[i]) return undefined
    const { clock, time } = this.#options
    const nowUs = clock?.nowUs() ?? time.nowMs() * 1_000
    if (nowUs >= denial.untilUs || nowUs < denial.atUs) return undefined
    return later(denial.result, Math.floor(nowUs - denial.atUs))
  }

  /** Remembers a denial by the store; forgets the key after anything that changes what is left. */
  noted(id: string, request: LayerRequest, result: StoreResult): void {
    const { mode, target, atLeast } = request
    const { judges, frees } = traitsOf(mode)
    if (frees) this.changed(id, target)
    else if (result.granted > 0) {
      if (!this.#denials.isEmpty) this.#taken(id, judges ? request : undefined)
    } else if (judges && atLeast === undefined) this.#remember(id, request, result)
  }

  /**
   * Less is left now, and who was denied has longer to wait. Denials of other classes stay: else
   * what passes in a higher class would send all requests of a lower one to the store.
   */
  #taken(id: string, ofClass: Pick<LayerRequest, 'keep'> | undefined): void {
    const others = ofClass && without(this.#denials.get(id), ofClass.keep)
    if (others === undefined) this.#denials.delete(id)
    else this.#denials.set(id, others)
  }

  /**
   * Units were given back or forgotten. Of requests on their way nobody knows whether they were
   * denied before or after. A policy key may be shared by any of the limiter's targets, so where
   * there is one all are forgotten.
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
    // Not the store's, or maybe older than a change.
    if (sentAtMs === undefined || result.source !== 'store' || sentAtMs <= this.#changedMs) return
    let waitMs = Number.POSITIVE_INFINITY
    for (const { policy, retryAfterMs, resetAfterMs } of result.policies) {
      // A slot may be released at any moment.
      if (retryAfterMs > 0 && policy.kernel?.traits.holds) return
      if (retryAfterMs > 0) waitMs = Math.min(waitMs, retryAfterMs)
      // What is said of a window holds until its end, also where another policy denies.
      if (policy.kernel?.traits.hasOneEnd && resetAfterMs > 0)
        waitMs = Math.min(waitMs, resetAfterMs)
    }
    if (waitMs < LEAST_WAIT_MS) return
    const { clock, time } = this.#options
    const sentUs = clock === undefined ? sentAtMs * 1_000 : result.nowUs
    const atUs = clock === undefined ? time.nowMs() * 1_000 : result.nowUs
    // One ms less than the whole wait, which is denied for certain, and one us more, so that this
    // one is.
    const untilUs = sentUs + Math.min(MAX_AGE_US, (waitMs - 1) * 1_000 + 1)
    const { policySet, policyKeys } = target
    let next = without(this.#denials.get(id), keep)
    if (next?.policySet !== policySet || lengthOf(next) >= MAX_CLASSES) next = undefined
    this.#denials.set(id, new Denial(policySet, keep, costs, result, atUs, untilUs, next))
    if (policyKeys !== undefined) this.#hasPolicyKeys = true
  }
}

/** The denials of a key but that of a class. */
function without(
  first: Denial | undefined,
  keep: readonly number[] | undefined,
): Denial | undefined {
  if (first === undefined) return undefined
  if (isSameKeep(first.keep, keep)) return first.next
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

/** Written out: a copy by `...` takes a third longer, and floods of refused requests come here. */
function shorter(
  { policy, cost, limit, remaining, retryAfterMs, resetAfterMs, block }: PolicyResult,
  ms: number,
): PolicyResult {
  const result = new MadePolicyResult(
    policy,
    cost,
    limit,
    remaining,
    retryAfterMs > ms ? retryAfterMs - ms : 0,
    resetAfterMs > ms ? resetAfterMs - ms : 0,
  )
  // A request before this one began the block.
  return block === undefined ? result : new MadeBlockResult(result, { ...block, hasBegun: false })
}
