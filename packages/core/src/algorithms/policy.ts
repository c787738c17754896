// A policy says what is allowed: a frozen value, made by one of the factories of an algorithm.

import { memoized } from '../base/cache.js'
import { invalid } from '../base/errors.js'
import type { Kernel, PolicyNumbers } from './algorithm.js'

export type Algorithm =
  | 'unlimited'
  | 'token-bucket'
  | 'gcra'
  | 'leaky-bucket'
  | 'fixed-window'
  | 'sliding-window'
  | 'sliding-log'
  | 'sliding-counter'
  | 'lockout'
  | 'concurrency'

/**
 * What is allowed. Make one with `tokenBucket`, `slidingWindow` and their like; do not build one by
 * hand.
 */
export interface Policy {
  /** What headers and keys in the store call it. */
  readonly name: string
  /** What is counted, as the `RateLimit-Policy` header says; undefined: requests. */
  readonly unit?: string | undefined
  /** Which algorithm decides. */
  readonly algorithm: Algorithm
  /** The most units that can pass at once: the limit of a window, the capacity of a bucket.
   *  `Infinity`: unlimited. */
  readonly limit: number
  /** The window, or the time in which an empty bucket fills up. May be a fraction for a bucket. Of
   *  a calendar period its usual length (a month: 31 days), and in a decision that of the very
   *  period. */
  readonly windowMs: number
  /**
   * The window, or the time in which an empty bucket fills up, in whole ms as text: `'1m'`; of a
   * calendar period, `'month@Europe/Berlin'` or `'week-monday@UTC'`. Part of the counter's
   * identity: policies of one name, algorithm and time scale share what was used, whatever their
   * limits; others do not.
   */
  readonly timeScale: string
  /** How long one unit takes to drain from a bucket; 0 for windows, where units do not leave one by
   *  one. */
  readonly unitMs: number
  /** How far ahead turns may be reserved, in ms; 0 for windows, where none are. */
  readonly maxWaitMs: number
  /** The arithmetic; undefined: there is none, all is allowed. */
  readonly kernel: Kernel | undefined
  /** What the kernel calculates with. */
  readonly numbers: PolicyNumbers
  /** What it is called in a limiter that has a name, where the user did not name it: algorithm and
   *  time scale, so that a changed limit continues from the same count. Undefined: the user named
   *  it. */
  readonly nameWithoutLimit: string | undefined
  /** Name, counter, numbers and unit as one text: policies with equal signatures are one and the
   *  same. */
  readonly signature: string
  /** What the factory was given: with `algorithm`, all that `policyFrom` needs. Undefined: it was
   *  derived from another policy. */
  readonly options: object | undefined
}

/**
 * Kernel, version of its state, and time scale: the last part of a counter's identity, after the
 * names and the key.
 */
export function counterOf({ kernel, timeScale }: Pick<Policy, 'kernel' | 'timeScale'>): string {
  return `${kernel?.id}-${timeScale}`
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/

/**
 * A name of a limiter or policy: fit for keys, headers, metric labels and log lines as it is.
 * @throws {TypeError | RangeError} WEIR_INVALID_NAME
 */
export function checkedName(name: string, what: string): string {
  if (typeof name === 'string' && NAME.test(name)) return name
  const right = "a letter or digit and then at most 63 letters, digits, '_', '.' or '-'"
  throw invalid('WEIR_INVALID_NAME', what, name, right, 'string')
}

/** What a factory says of a policy. */
type PolicyParts = Omit<Policy, 'name' | 'unit' | 'nameWithoutLimit' | 'signature' | 'options'> & {
  /** As the user named it; undefined: it is named by what it is. */
  readonly name: string | undefined
  /** What the factory was given. */
  readonly options?: object | undefined
}

/** Completes and freezes a policy. For factories only. */
export function makePolicy(parts: PolicyParts): Policy {
  const { algorithm, limit, timeScale } = parts
  const scale = timeScale.replace(/[^\w.-]+/g, '-')
  if (parts.name !== undefined) checkedName(parts.name, 'policy name')
  const { unit } = (parts.options ?? {}) as Pick<Policy, 'unit'>
  if (unit !== undefined) checkedName(unit, 'unit')
  const nameWithoutLimit = parts.name === undefined ? `${algorithm}-${scale}` : undefined
  const name = parts.name ?? `${algorithm}-${limit}-per-${scale}`
  return finished({ ...parts, name, nameWithoutLimit, ...(unit !== undefined && { unit }) })
}

function finished(
  parts: Omit<Policy, 'signature' | 'options'> & Pick<PolicyParts, 'options'>,
): Policy {
  const { kernel, numbers, nameWithoutLimit, options, ...shown } = parts
  const unit = parts.unit === undefined ? '' : `|${parts.unit}`
  const signature = `${parts.name}|${counterOf(parts)}|${numbers.join()}${unit}`
  // Decisions carry their policies, and are logged: the arithmetic is kept out of the log.
  const hidden = {
    kernel: { value: kernel },
    numbers: { value: numbers },
    nameWithoutLimit: { value: nameWithoutLimit },
    options: { value: options },
  }
  return Object.freeze(Object.defineProperties({ ...shown, signature }, hidden)) as Policy
}

/** The policy under a name, if the user has not named it. */
export function policyNamed(policy: Policy, name: string): Policy {
  if (policy.nameWithoutLimit === undefined) return policy
  return withName(policy, checkedName(name, 'policy name'))
}

/** The policy under a name, on the counter of that name. */
export function withName(policy: Policy, name: string): Policy {
  return changed(policy, { name, nameWithoutLimit: undefined })
}

/** The policy as a limiter with a name calls it: its limit may change, and its count goes on. */
export const withoutLimitInName: (policy: Policy) => Policy = memoized((policy) =>
  policy.nameWithoutLimit === undefined ? policy : policyNamed(policy, policy.nameWithoutLimit),
)

/**
 * The policy with another limit, of the same name and on the same counter: units come back in the
 * same time.
 */
export function withLimit(policy: Policy, limit: number): Policy {
  const numbers = limitedTo(policy, limit)
  return changed(policy, { limit, numbers, nameWithoutLimit: undefined })
}

const ofPeriods = memoized((_: Policy) => new Map<number, Policy>())

/** The policy as it is at a time: of calendar periods, with the length of the one then. */
export function policyAt(policy: Policy, nowUs: number): Policy {
  const period = policy.kernel?.periodAt?.(nowUs)
  if (period === undefined) return policy
  const windowMs = period.endMs - period.startMs
  const known = ofPeriods(policy)
  let at = known.get(windowMs)
  if (at === undefined) {
    at = changed(policy, { windowMs })
    known.set(windowMs, at)
  }
  return at
}

/**
 * The policy with a smaller limit and a rate that is as much smaller. Its names and its time scale
 * stay, so it is the same counter.
 */
export function scaledTo(policy: Policy, limit: number): Policy {
  const unitMs = policy.unitMs === 0 ? 0 : policy.windowMs / limit
  return changed(policy, { limit, unitMs, numbers: limitedTo(policy, limit) })
}

function limitedTo({ numbers }: Policy, limit: number): PolicyNumbers {
  return [limit, ...numbers.slice(1)]
}

/** The policy with other parts; no longer one that its options describe. */
export function changed(policy: Policy, parts: Partial<Policy>): Policy {
  // These are not enumerable.
  const { kernel, numbers, nameWithoutLimit } = policy
  return finished({ ...policy, kernel, numbers, nameWithoutLimit, ...parts })
}

/**
 * A whole number from 0 to `most`; a limit of 0 is legal and denies all.
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY
 */
export function checkedCount(value: unknown, what: string, most: number, least = 0): number {
  const count = value as number
  if (Number.isInteger(count) && count >= least && count <= most) return count
  const hint = value === Number.POSITIVE_INFINITY ? ', or use unlimited()' : ''
  const right = `a whole number from ${least} to ${most}${hint}`
  throw invalid('WEIR_INVALID_POLICY', what, value, right, 'number')
}

/** Whether both are of one algorithm, and so may be one counter. */
export function isSameKind(one: Policy, other: Policy): boolean {
  return one.algorithm === other.algorithm
}

/**
 * Whether a factory made the value, maybe that of another copy of this package, whose kernel takes
 * as many numbers as the policy has.
 */
export function isPolicy(value: unknown): value is Policy {
  const { name, signature, numbers, limit, kernel } = (value ?? {}) as Partial<Policy>
  if (typeof name !== 'string' || typeof signature !== 'string') return false
  if (!Array.isArray(numbers)) return false
  if (kernel === undefined) return true
  return numbers[0] === limit && numbers.length === kernel.lua.numbers.length
}

/** @throws {TypeError} WEIR_INVALID_POLICY unless it is a policy */
export function checkPolicy(value: unknown, what: string): asserts value is Policy {
  if (isPolicy(value)) return
  const right = 'tokenBucket({...}), slidingWindow({...}), ...'
  throw invalid('WEIR_INVALID_POLICY', what, value, right)
}
