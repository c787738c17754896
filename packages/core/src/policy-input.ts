// Checks the policies, keys and costs that users give, where they enter.

import { isPolicy, type Policy } from './algorithms/policy.js'
import {
  type CodedError,
  type ErrorCode,
  invalid,
  quote,
  rangeError,
  typeError,
} from './base/errors.js'
import { LONGEST_KEY } from './base/key-name.js'
import { checkedOptions } from './base/options.js'
import { checkWhen } from './request.js'
import type { WhenUnavailable } from './store.js'

/**
 * Who is limited: a text of 1 to 8,192 characters, a safe integer or a bigint; 42, 42n and '42' are
 * one key. A text of more than 256 characters (UTF-16 units) is counted by its hash. Pass addresses
 * through `addressKey`: an IPv6 client has at least 2^64.
 */
export type Key = string | number | bigint

/** A policy whose key, cost or behaviour in outages is its own. */
export interface PolicyUse {
  /** The policy. */
  readonly policy: Policy
  /** Who is limited by this policy, instead of the decision's key: an account, or `'all'`. */
  readonly key?: Key | undefined
  /** The policy's cost, instead of the decision's: a whole number from 0. */
  readonly cost?: number | undefined
  /** What to do for this policy when the store cannot decide. Default: the limiter's option. */
  readonly whenUnavailable?: WhenUnavailable | undefined
  /** For Redis Cluster: policies with equal tags are decided in one atomic step. Default: the
   *  key. */
  readonly tag?: Key | undefined
}

/** One policy, or several that are one decision: all allow and all are charged, or none is. */
export type PolicyInput = Policy | readonly (Policy | PolicyUse)[]

/**
 * Checks each of the policies that are given as one or several, and returns them as a list.
 * @param what the input, as errors name it
 * @param whose the owner of the policies, as errors name it
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_KEY, WEIR_INVALID_COST,
 * WEIR_INVALID_OPTION
 */
export function checkedUses(
  input: PolicyInput,
  what: string,
  whose: string = what,
): readonly PolicyUse[] {
  const given: readonly (Policy | PolicyUse)[] = Array.isArray(input) ? input : [input]
  if (given.length > 0) return given.map((each) => checkedUse(each, what))
  throw typeError('WEIR_INVALID_POLICY', `${whose} has no policy; give one, or unlimited()`)
}

/** @throws {RangeError} WEIR_INVALID_POLICY if two policies have the same name */
export function checkNames(uses: readonly PolicyUse[], whose: string): void {
  const twice = uses.length > 1 ? uses.find((use) => isTwice(use, uses)) : undefined
  if (twice === undefined) return
  const problem = `${whose} has two policies named "${twice.policy.name}"`
  throw rangeError('WEIR_INVALID_POLICY', `${problem}; give them different names`)
}

/** Whether another policy has its name. */
export function isTwice({ policy: { name } }: PolicyUse, uses: readonly PolicyUse[]): boolean {
  return uses.filter(({ policy }) => policy.name === name).length > 1
}

const USE = ['policy', 'key', 'cost', 'whenUnavailable', 'tag']

function checkedUse(input: Policy | PolicyUse, what: string): PolicyUse {
  const isUse = typeof input === 'object' && input !== null && 'policy' in input
  if (isUse) checkedOptions(input, 'an object with a policy', USE, 'WEIR_INVALID_POLICY')
  const use: PolicyUse = isUse ? input : { policy: input as Policy }
  if (!isPolicy(use.policy)) {
    const right = 'tokenBucket({...}), slidingWindow({...}), ...'
    throw invalid('WEIR_INVALID_POLICY', what, input, right)
  }
  if (use.key !== undefined) checkedKey(use.key)
  if (use.tag !== undefined) checkedKey(use.tag)
  if (use.cost !== undefined) checkedCostOf(use.policy, use.cost)
  if (use.whenUnavailable !== undefined) checkWhen(use.whenUnavailable)
  return use
}

/** The text of a key, which is counted under its name (base/key-name.ts). */
export function checkedKey(key: Key): string {
  if (!isKey(key)) {
    const right = 'a text that is not empty, a whole number or a bigint, which names who is limited'
    throw invalid('WEIR_INVALID_KEY', 'key', key, right, key === '' ? 'string' : 'number')
  }
  const text = String(key)
  if (text.length > LONGEST_KEY) throw new LongKeyError(text)
  return text
}

/** A key that is too long. Clients may choose keys, so this is an error in a request, and not in
 *  the policy function that gave the key to a policy. */
export class LongKeyError extends RangeError implements CodedError {
  readonly code: ErrorCode = 'WEIR_INVALID_KEY'
  constructor(text: string) {
    const { length } = text
    super(`key is ${quote(text)}, of ${length} characters; give one of at most ${LONGEST_KEY}`)
  }
}

/** Whether a key is too long to be counted. */
export function isLongKey(key: Key): boolean {
  return typeof key !== 'number' && String(key).length > LONGEST_KEY
}

export function isKey(key: unknown): key is Key {
  return typeof key === 'string' ? key !== '' : typeof key === 'bigint' || Number.isSafeInteger(key)
}

export function checkedCost(cost: number): number {
  if (Number.isSafeInteger(cost) && cost >= 0) return cost
  const hint = typeof cost === 'number' && cost < 0 ? ' (to give units back, use refund)' : ''
  throw invalid('WEIR_INVALID_COST', 'cost', cost, `a whole number, 0 or more${hint}`, 'number')
}

/**
 * Checks a cost that is meant for one policy: for a lock-out, which counts attempts, 0 or 1.
 * @throws {TypeError | RangeError} WEIR_INVALID_COST
 */
export function checkedCostOf({ name, kernel }: Policy, cost: number): number {
  if (checkedCost(cost) <= 1 || kernel?.traits.blocks !== true) return cost
  const right = '0 or 1: a lock-out counts attempts'
  throw invalid('WEIR_INVALID_COST', `cost of ${quote(name)}`, cost, right, 'number')
}
