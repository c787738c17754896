// A policy says what is allowed: a frozen value, made by one of an algorithm's factories.

import { memoized } from '../base/cache.js'
import { invalid } from '../base/errors.js'
import type { Kernel, PolicyNumbers } from './algorithm.js'
import type { Algorithm } from './names.generated.js'

export type { Algorithm } from './names.generated.js'

/** What is allowed, made by a factory such as `slidingWindow`. */
export interface Policy {
  /** Its name in the store's keys and, unless its limiter's stands there, in headers. */
  readonly name: string
  /** What is counted; undefined: requests. */
  readonly unit?: string | undefined
  /** The shares of its limit whose crossings are reported. Undefined: none. */
  readonly notifyAt?: readonly number[] | undefined
  /** Which algorithm decides. */
  readonly algorithm: Algorithm
  /** The most units that can pass at once: a window's limit, a bucket's capacity; `Infinity`:
   *  unlimited. */
  readonly limit: number
  /**
   * The window, or the time in which an empty bucket fills up, in ms. In a decision, the length of
   * the calendar period that it was made in.
   */
  readonly windowMs: number
  /**
   * The same as text: `'1m'`, `'month@Europe/Berlin'`. Policies with the same name, algorithm and
   * time scale share the units in use, whatever their limits.
   */
  readonly timeScale: string
  /** How long one unit takes to drain from a bucket, in ms; 0 for windows, where units do not leave
   *  one by one. */
  readonly unitMs: number
  /** How far ahead turns may be reserved, in ms; 0 for windows, which have no turns. */
  readonly maxWaitMs: number
  /** The arithmetic; undefined: there is none, and everything is allowed.
   *  @internal */
  readonly kernel: Kernel | undefined
  /** What the kernel calculates with.
   *  @internal */
  readonly numbers: PolicyNumbers
  /** Its name in a limiter that has a name, where the user did not name the policy: algorithm and
   *  time scale, so that a changed limit continues from the same count. Undefined: the user named
   *  it. */
  readonly nameWithoutLimit: string | undefined
  /** Whether the user named it, be it as it would be called anyhow: then headers show that name.
   *  @internal */
  readonly isNamed: boolean
  /** Name, counter, numbers, unit and shares as one text: policies with equal signatures are the
   *  same. */
  readonly signature: string
  /** The factory's options: with `algorithm`, all that `policyFrom` needs. Undefined: the policy
   *  was derived from another. */
  readonly options: object | undefined
}

/** The arithmetic of a policy, for tools; undefined: there is none, and everything is allowed. */
export function kernelOf(policy: Policy): Kernel | undefined {
  return policy.kernel
}

/** What the kernel of a policy calculates with, for tools. */
export function numbersOf(policy: Policy): PolicyNumbers {
  return policy.numbers
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
 * Checks the name of a limiter or policy, which must fit keys, headers, metric labels and log lines
 * without escapes.
 * @throws {TypeError | RangeError} WEIR_INVALID_NAME
 */
export function checkedName(name: string, what: string): string {
  if (typeof name === 'string' && NAME.test(name)) return name
  const right = "a letter or digit and then at most 63 letters, digits, '_', '.' or '-'"
  throw invalid('WEIR_INVALID_NAME', what, name, right, 'string')
}

/** What limiters with a name call a policy that the user did not name. */
function ownName(policy: Pick<Policy, 'algorithm' | 'timeScale'>): string {
  return `${policy.algorithm}-${scaleOf(policy)}`
}

function scaleOf({ timeScale }: Pick<Policy, 'timeScale'>): string {
  return timeScale.replace(/[^\w.-]+/g, '-')
}

/** Whether a policy of a limiter with a name has the name that it has where the user gave none. */
export const isUnnamed: (policy: Policy) => boolean = memoized(
  (policy) => !policy.isNamed && policy.name === ownName(policy),
)

/** What a factory says about a policy. */
type PolicyParts = Omit<
  Policy,
  'name' | 'unit' | 'notifyAt' | 'nameWithoutLimit' | 'isNamed' | 'signature' | 'options'
> & {
  /** As the user named it; undefined: it is named after what it does. */
  readonly name: string | undefined
  /** The factory's options. */
  readonly options?: object | undefined
}

/** Completes and freezes a policy. For factories only. */
export function makePolicy(parts: PolicyParts): Policy {
  const { algorithm, limit } = parts
  if (parts.name !== undefined) checkedName(parts.name, 'policy name')
  const { unit, notifyAt } = (parts.options ?? {}) as Pick<Policy, 'unit' | 'notifyAt'>
  if (unit !== undefined) checkedName(unit, 'unit')
  const nameWithoutLimit = parts.name === undefined ? ownName(parts) : undefined
  const name = parts.name ?? `${algorithm}-${limit}-per-${scaleOf(parts)}`
  return finished({
    ...parts,
    name,
    nameWithoutLimit,
    isNamed: parts.name !== undefined,
    ...(unit !== undefined && { unit }),
    ...(notifyAt !== undefined && { notifyAt: checkedShares(algorithm, notifyAt) }),
  })
}

const MOST_SHARES = 10

/** @throws {TypeError | RangeError} WEIR_INVALID_POLICY */
function checkedShares(algorithm: Algorithm, shares: readonly number[]): readonly number[] {
  const isShare = (share: unknown, i: number): boolean =>
    typeof share === 'number' && share > ((shares[i - 1] as number) ?? 0) && share <= 1
  const areShares = Array.isArray(shares) && shares.length > 0 && shares.length <= MOST_SHARES
  if (areShares && shares.every(isShare)) return Object.freeze([...shares])
  const right = `1 to ${MOST_SHARES} shares of the limit, above 0 to 1, the least one first`
  throw invalid('WEIR_INVALID_POLICY', `${algorithm}: notifyAt`, shares, right, 'object')
}

function finished(
  parts: Omit<Policy, 'signature' | 'options'> & Pick<PolicyParts, 'options'>,
): Policy {
  const { kernel, numbers, nameWithoutLimit, isNamed, options, ...shown } = parts
  const unit = parts.unit === undefined ? '' : `|${parts.unit}`
  const shares = parts.notifyAt === undefined ? '' : `|at ${parts.notifyAt.join()}`
  const signature = `${parts.name}|${counterOf(parts)}|${numbers.join()}${unit}${shares}`
  // Decisions carry their policies, and are logged: the arithmetic is kept out of the log.
  const hidden = {
    kernel: { value: kernel },
    numbers: { value: numbers },
    nameWithoutLimit: { value: nameWithoutLimit },
    isNamed: { value: isNamed },
    options: { value: options },
  }
  return Object.freeze(Object.defineProperties({ ...shown, signature }, hidden)) as Policy
}

/** The policy under this name, unless the user named it. */
export function policyNamed(policy: Policy, name: string): Policy {
  if (policy.nameWithoutLimit === undefined) return policy
  return withName(policy, checkedName(name, 'policy name'))
}

/** The policy under a name, on the counter of that name. */
export function withName(policy: Policy, name: string): Policy {
  return changed(policy, { name, nameWithoutLimit: undefined })
}

/** The policy as a limiter with a name calls it: its limit may change, and its count continues. */
export const withoutLimitInName: (policy: Policy) => Policy = memoized((policy) =>
  policy.nameWithoutLimit === undefined ? policy : policyNamed(policy, policy.nameWithoutLimit),
)

/**
 * The policy with another limit, but the same name and counter: all units come back in the same
 * time.
 */
export function withLimit(policy: Policy, limit: number): Policy {
  const numbers = limitedTo(policy, limit)
  return changed(policy, { limit, numbers, nameWithoutLimit: undefined })
}

const ofPeriods = memoized((_: Policy) => new Map<number, Policy>())

/** The policy at a time: for calendar periods, with the length of the period at that time. */
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
 * The policy with a smaller limit and a rate reduced in proportion. Its names and its time scale
 * stay, so it is the same counter.
 */
export function scaledTo(policy: Policy, limit: number): Policy {
  const unitMs = policy.unitMs === 0 ? 0 : policy.windowMs / limit
  return changed(policy, { limit, unitMs, numbers: limitedTo(policy, limit) })
}

function limitedTo({ numbers }: Policy, limit: number): PolicyNumbers {
  return [limit, ...numbers.slice(1)]
}

/** The policy with other parts; its options no longer describe it. */
export function changed(policy: Policy, parts: Partial<Policy>): Policy {
  // These are not enumerable.
  const { kernel, numbers, nameWithoutLimit, isNamed } = policy
  return finished({ ...policy, kernel, numbers, nameWithoutLimit, isNamed, ...parts })
}

/**
 * Checks a whole number from `least` to `most`; a limit of 0 is legal and denies all.
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY
 */
export function checkedCount(value: unknown, what: string, most: number, least = 0): number {
  const count = value as number
  if (Number.isInteger(count) && count >= least && count <= most) return count
  const hint = value === Number.POSITIVE_INFINITY ? ', or use unlimited()' : ''
  const right = `a whole number from ${least} to ${most}${hint}`
  throw invalid('WEIR_INVALID_POLICY', what, value, right, 'number')
}

/** Whether both have the same algorithm, and so may be one counter. */
export function isSameKind(one: Policy, other: Policy): boolean {
  return one.algorithm === other.algorithm
}

/**
 * Whether a factory made the value, perhaps one of another copy of this package, and the value's
 * kernel takes as many numbers as it has.
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
