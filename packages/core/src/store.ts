// The contract of a store: where state lives, and where a decision is made atomically. A store that wraps another one (to
// answer denials locally, to survive its failure, ...) keeps the same contract.
// `storeConformance` in @weir/core/testing checks a store against it.

import type { Mode, Reading } from './algorithms/driver.js'
import type { Policy } from './algorithms/policy.js'
import { rangeError } from './base/errors.js'
import type { PolicyResult } from './limiter/decision.js'

export type { Mode } from './algorithms/driver.js'

export interface Store {
  /**
   * Decides one group atomically: all its policies allow it and all are charged, or none is. Answers at once where it can.
   * @throws {StoreError} (or rejects) if it cannot decide
   */
  decide(group: StoreRequest): StoreResult | Promise<StoreResult>
  /**
   * `decide`, and what `as` makes of the answer. A limiter calls it instead, if there is one: it spares a promise and a turn
   * of the microtask queue for each decision. `as` does not throw. A store that wraps another one has its own, or none.
   */
  decideAs?<Result>(
    group: StoreRequest,
    as: (group: StoreRequest, answer: StoreResult) => Result,
  ): Result | Promise<Result>
  /** Forgets what was taken. */
  reset(target: Target): void | Promise<void>
  close?(): void | Promise<void>
  /** True: counters live in this process, so that other processes have others. */
  readonly local?: boolean
}

/**
 * The policies of a decision under one limiter's name: what all decisions of a limiter have in common. Equal policy sets are
 * one object per limiter, so a store may keep what it derives from a policy set in a WeakMap.
 */
export interface PolicySet {
  /** Name of the limiter: same name on one store, same counters. */
  readonly name: string
  /** At least one; names are unique; none is unlimited. */
  readonly policies: readonly Policy[]
  /** For each policy, what to do when the store cannot decide; undefined: as the store is told. */
  readonly whenUnavailable?: readonly (WhenUnavailable | undefined)[] | undefined
}

/**
 * When the store cannot decide:
 * - `local`: in this process, with its share of the limit, starting from what was last seen of the key
 * - `allow`: as if the policy were not there
 * - `deny`: refuse, with reason `store-unavailable`
 * - `throw`: a StoreError
 */
export type WhenUnavailable = 'local' | 'allow' | 'deny' | 'throw'

/** Whose counters. */
export interface Target {
  readonly policySet: PolicySet
  /** Who is limited. Never empty. */
  readonly key: string
  /** Who is limited by a policy that has a key of its own, by the policy's place in the policy set. */
  readonly ownKeys?: readonly (OwnKey | undefined)[] | undefined
}

export interface OwnKey {
  readonly key: string
  /** Keys with equal tags lie on one node of a Redis Cluster, so that they can be decided together. */
  readonly tag: string
}

const LINE_FEED = 10

/**
 * A key as a process tells it from others. Lists of keys begin with a line feed and a bracket, hashes with a line feed and
 * '#'; so a key that begins with a line feed gets one more, and no key is equal to a list or a hash.
 */
export function textOfKey(key: string): string {
  return key.charCodeAt(0) === LINE_FEED ? `\n${key}` : key
}

/** The same of an own key: in Redis, equal keys with other tags are other counters. */
export function textOfOwnKey({ key, tag }: OwnKey): string {
  return tag === key ? textOfKey(key) : `\n${JSON.stringify([tag, key])}`
}

/** The same of a target, among those of its policy set. */
export function textOfTarget({ key, ownKeys }: Pick<Target, 'key' | 'ownKeys'>): string {
  if (ownKeys === undefined) return textOfKey(key)
  return `\n${JSON.stringify([key, ...ownKeys.map((own) => own && textOfOwnKey(own))])}`
}

/** What a store decides at once. */
export interface StoreRequest extends Target {
  readonly mode: Mode
  /** Units for each policy of the policy set. Whole, >= 0. */
  readonly costs: readonly number[]
  /** To refund by receipt, settle or raise: for each policy, until when (in us of the store's clock) it weighs. */
  readonly untilUs?: readonly number[] | undefined
  /** To refund by receipt or to raise: when, in us of the store's clock, it was charged, or that usage was seen. */
  readonly seenUs?: number | undefined
}

export interface StoreResult {
  /** Always true for a refund or a charge; for a raise, whether something had been lost. */
  readonly allowed: boolean
  /** The store's clock when it decided, in whole us since the Unix epoch. */
  readonly nowUs: number
  /** For each policy, until when (in us of the store's clock) what was charged weighs: what a refund needs to know. */
  readonly untilUs: readonly number[]
  /** One for each policy of the policy set, in its order. */
  readonly figures: readonly PolicyResult[]
  readonly source: 'store' | 'local'
  readonly degraded: boolean
  /** Denied not by a policy but because the store cannot decide: ms until asking again may help. */
  readonly unavailableMs?: number
}

/** The answer that granted or refused requests amount to; for stores that run the kernels. */
export function resultOf(
  group: StoreRequest,
  granted: boolean,
  nowUs: number,
  readings: readonly Reading[],
): StoreResult {
  const { policies } = group.policySet
  // Arrays of the right size: one that grows by push takes room for 17, which was a third of all that a decision allocates.
  const figures = new Array<PolicyResult>(policies.length)
  const untilUs = new Array<number>(policies.length)
  for (let i = 0; i < policies.length; i += 1) {
    const policy = policies[i] as Policy
    const { left, waitMs, resetUs } = readings[i] as Reading
    untilUs[i] = nowUs + resetUs
    figures[i] = {
      policy,
      cost: group.costs[i] as number,
      limit: policy.limit,
      remaining: left,
      retryAfterMs: waitMs < 0 ? Number.POSITIVE_INFINITY : waitMs,
      resetAfterMs: Math.ceil(resetUs / 1_000),
    }
  }
  return { allowed: granted, nowUs, untilUs, figures, source: 'store', degraded: false }
}

/** @throws {RangeError} WEIR_INVALID_POLICY if two policies of a decision have one name */
export function makePolicySet(
  name: string,
  policies: readonly Policy[],
  whenUnavailable?: readonly (WhenUnavailable | undefined)[],
): PolicySet {
  checkNames(
    name,
    policies.map((policy) => ({ policy })),
  )
  return Object.freeze({ name, policies: Object.freeze([...policies]), whenUnavailable })
}

/** @throws {RangeError} WEIR_INVALID_POLICY if two of the policies have one name */
export function checkNames(limiter: string, uses: readonly { readonly policy: Policy }[]): void {
  const names = new Set<string>()
  for (const { policy } of uses) {
    if (names.has(policy.name)) {
      throw rangeError(
        'WEIR_INVALID_POLICY',
        `limiter "${limiter}" has two policies named "${policy.name}"; give each a name of its own`,
      )
    }
    names.add(policy.name)
  }
}
