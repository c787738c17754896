// What stores and layers do with requests: make policy sets, name targets, take parts, write
// results.

import { type BlockState, blockIn, withoutBlock } from './algorithms/block-code.js'
import type { Reading } from './algorithms/driver.js'
import { counterOf, isPolicy, type Policy, policyAt } from './algorithms/policy.js'
import { memoized } from './base/cache.js'
import { invalid } from './base/errors.js'
import { textOfKey, textOfPolicyKey } from './base/key-text.js'
import { type AnsweredRequest, noteCrossings, type TellingSet } from './crossings.js'
import type {
  PolicyResult,
  PolicySet,
  RefundRequest,
  Store,
  StoreRequest,
  StoreResult,
  Target,
  WhenUnavailable,
} from './store.js'

/**
 * @param counters where the limiter counts its decisions; not part of the set's value
 * @param tell learns of crossings, for a set whose policies have a `notifyAt`; no part of it either
 */
export function makePolicySet(
  name: string,
  policies: readonly Policy[],
  whenUnavailable?: PolicySet['whenUnavailable'],
  counters?: object,
  tell?: TellingSet['tell'],
): PolicySet {
  // The array is not frozen: V8 reads an element of a frozen array 5 ns more slowly, every time.
  const set = { name, policies: [...policies], whenUnavailable }
  const hidden = { counters: { value: counters }, tell: { value: tell } }
  return Object.freeze(Object.defineProperties(set, hidden))
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION unless it is a `WhenUnavailable` */
export function checkWhen(when: unknown): void {
  if (['local', 'allow', 'deny', 'throw'].includes(when as string)) return
  if (isPolicy(when) && when.kernel !== undefined) return
  const isUnlimited = isPolicy(when) ? "; 'allow' is unlimited" : ''
  const right = `'local', 'allow', 'deny', 'throw' or a policy that limits${isUnlimited}`
  throw invalid('WEIR_INVALID_OPTION', 'whenUnavailable', when, right, 'string')
}

/** A text that is the same for equal values. */
export function textOfWhen(when: WhenUnavailable | undefined): string | undefined {
  return typeof when === 'object' ? when.signature : when
}

/** @throws {TypeError} WEIR_INVALID_OPTION unless it is a store */
export function checkStore(store: unknown): void {
  if (typeof (store as Store | undefined | null)?.decide === 'function') return
  const right = 'memoryStore(), redisStore(...) or your own'
  throw invalid('WEIR_INVALID_OPTION', 'store', store, right)
}

/** The name under which a policy counts, without the key. */
export function counterId({ name }: PolicySet, policy: Policy): string {
  return `${name}:${policy.name}:${counterOf(policy)}`
}

/** Whether one of a target's policies counts attempts, each of which may begin a block. */
export function countsAttempts({ policySet }: Pick<Target, 'policySet'>): boolean {
  return policySet.policies.some(({ kernel }) => kernel?.traits.blocks)
}

/** The key that the i-th policy limits, as the text by which a store that is not a Cluster tells
 *  keys apart. */
export function countedKey({ key, policyKeys }: Target, i: number): string {
  const own = policyKeys?.[i]
  return own === undefined ? textOfKey(key) : textOfPolicyKey(own)
}

function pick<Value>(all: readonly Value[], places: readonly number[]): Value[] {
  return places.map((i) => all[i] as Value)
}

const partsOf = memoized((_: PolicySet) => new Map<string, PolicySet>())

/** The target as if its set had only the policies at these places; the target itself if these are
 *  all. */
export function partOfTarget(target: Target, places: readonly number[]): Target {
  const { policySet, key, policyKeys } = target
  if (places.length === policySet.policies.length) return target
  const parts = partsOf(policySet)
  const id = places.join()
  let part = parts.get(id)
  if (part === undefined) {
    const { name, policies, whenUnavailable: when, tell } = policySet as TellingSet
    const some = pick(policies, places)
    part = makePolicySet(name, some, when && pick(when, places), undefined, tell)
    parts.set(id, part)
  }
  return { policySet: part, key, policyKeys: policyKeys && pick(policyKeys, places) }
}

/** A request that gives back units that a result has charged. */
export function correctionOf(
  mode: RefundRequest['mode'],
  target: Target,
  costs: readonly number[],
  { untilUs, nowUs }: Pick<StoreResult, 'untilUs' | 'nowUs'>,
): RefundRequest {
  return { mode, target, costs, count: 1, untilUs, seenUs: nowUs }
}

/** A result whose charges at these places, by default all, are spent: of an estimate that is not
 *  held, the store knows no name. */
export function withoutNames(result: StoreResult, places?: readonly number[]): StoreResult {
  const isSpent = result.policies.map(({ policy }, i) => {
    return policy.kernel?.expiryMs !== undefined && places?.includes(i) !== false
  })
  if (!isSpent.includes(true)) return result
  const untilUs = result.untilUs.map((us, i) => (isSpent[i] ? Number.POSITIVE_INFINITY : us))
  return { ...result, untilUs }
}

/** The request as if its set had only the policies at these places. */
export function partOfRequest<Request extends Omit<StoreRequest, 'mode'>>(
  request: Request,
  places: readonly number[],
): Request {
  const isWhole = places.length === request.target.policySet.policies.length
  return {
    ...request,
    target: partOfTarget(request.target, places),
    costs: pick(request.costs, places),
    untilUs: request.untilUs && pick(request.untilUs, places),
    charged: request.charged && pick(request.charged, places),
    keep: request.keep && pick(request.keep, places),
    // A turn is reserved only for a set of one policy, not for one policy of a larger set.
    maxWaitMs: isWhole ? request.maxWaitMs : undefined,
  }
}

/** Whether each policy is charged one unit. */
export function areOne(costs: readonly number[]): boolean {
  for (let i = 0; i < costs.length; i += 1) if (costs[i] !== 1) return false
  return true
}

/** Whether two requests have the same costs or, by their `keep`, the same class. */
export function isSameUnits(one: StoreRequest['keep'], other: StoreRequest['keep']): boolean {
  if (one === other) return true
  return one !== undefined && other !== undefined && one.every((kept, i) => kept === other[i])
}

// Objects that are made for each request are instances of classes, and arrays are not written as
// literals. V8 keeps statistics for each literal: if most of the objects that it makes in cold code
// outlive a collection, as they do while answers are slow, V8 allocates all later ones where only a
// major collection frees them. It keeps no such statistics for classes.

/** An array of one item, made as a copy of another: `Array.of` takes as long as a decision. */
export function arrayOf<Item>(item: Item): Item[] {
  const one = ONE.slice() as Item[]
  one[0] = item
  return one
}
const ONE: readonly unknown[] = [undefined]

/** What a store is asked about one key. */
export class MadeTarget implements Target {
  readonly policySet: PolicySet
  readonly key: string
  readonly policyKeys: Target['policyKeys']

  constructor(policySet: PolicySet, key: string, policyKeys: Target['policyKeys']) {
    this.policySet = policySet
    this.key = key
    this.policyKeys = policyKeys
  }
}

export class MadePolicyResult implements PolicyResult {
  readonly policy: Policy
  readonly cost: number
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number

  constructor(
    policy: Policy,
    cost: number,
    limit: number,
    remaining: number,
    retryAfterMs: number,
    resetAfterMs: number,
  ) {
    this.policy = policy
    this.cost = cost
    this.limit = limit
    this.remaining = remaining
    this.retryAfterMs = retryAfterMs
    this.resetAfterMs = resetAfterMs
  }
}

/** The result of a policy that blocks. Other results have no such field, which would cost
 *  memory. */
export class MadeBlockResult extends MadePolicyResult {
  readonly block: BlockState

  constructor(each: PolicyResult, block: BlockState) {
    const { policy, cost, limit, remaining, retryAfterMs, resetAfterMs } = each
    super(policy, cost, limit, remaining, retryAfterMs, resetAfterMs)
    this.block = block
  }
}

export class MadeResult implements StoreResult {
  readonly granted: number
  readonly nowUs: number
  readonly untilUs: readonly number[]
  readonly policies: readonly PolicyResult[]
  readonly source: StoreResult['source']
  readonly degraded = false
  readonly unavailableMs = undefined
  readonly sentAtMs: number | undefined

  constructor(
    granted: number,
    nowUs: number,
    untilUs: readonly number[],
    policies: readonly PolicyResult[],
    source: StoreResult['source'],
    sentAtMs: number | undefined,
  ) {
    this.granted = granted
    this.nowUs = nowUs
    this.untilUs = untilUs
    this.policies = policies
    this.source = source
    this.sentAtMs = sentAtMs
  }
}

/** Makes a result from the kernels' readings. */
export function resultOf(
  request: AnsweredRequest,
  granted: number,
  nowUs: number,
  readings: readonly Reading[],
  sentAtMs?: number,
): StoreResult {
  const { target, costs } = request
  const { policies: all, tell } = target.policySet as TellingSet
  // Made with the right size: an array that grows by push takes room for 17 entries.
  const policies = new Array<PolicyResult>(all.length)
  const untilUs = new Array<number>(all.length)
  for (let i = 0; i < all.length; i += 1) {
    const policy = all[i] as Policy
    const { kernel } = policy
    const { left, waitMs, resetUs: toldUs } = readings[i] as Reading
    const blocks = kernel?.traits.blocks === true
    const resetUs = blocks ? withoutBlock(toldUs) : toldUs
    untilUs[i] = nowUs + resetUs
    const result = new MadePolicyResult(
      kernel?.periodAt === undefined ? policy : policyAt(policy, nowUs),
      costs[i] as number,
      policy.limit,
      left,
      waitMs < 0 ? Number.POSITIVE_INFINITY : waitMs,
      Math.ceil(resetUs / 1_000),
    )
    policies[i] = blocks ? new MadeBlockResult(result, blockIn(toldUs)) : result
  }
  if (tell !== undefined) noteCrossings(request, granted, readings, policies, tell)
  return new MadeResult(granted, nowUs, untilUs, policies, 'store', sentAtMs)
}
