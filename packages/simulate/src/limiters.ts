// The limiters to simulate: what a policies file exports, checked.

import {
  type Cost,
  type Duration,
  type Key,
  type Policy,
  type PolicyInput,
  type PolicyUse,
  slidingWindow,
} from '@weir/core'
import { isPolicy, quote } from '@weir/core/internal'
import { misuse, misused } from './errors.js'
import type { LogEntry } from './log/entry.js'
import { whyRefused } from './run/algorithms.js'

/** What a limiter is asked about a log entry. */
interface LimiterSettings {
  /** Who is limited. Returns undefined for an entry that is not to be decided on. Default: as the
   *  option `key` says. */
  readonly key?: ((entry: LogEntry) => Key | undefined) | undefined
  /** Units that a request takes. Default: the value of the field that `fields.cost` names, or 1. */
  readonly cost?: ((entry: LogEntry) => Cost) | undefined
  /** Returns true for an entry that is not to be decided on. Default: none is skipped. */
  readonly skip?: ((entry: LogEntry) => boolean) | undefined
  /** The classes of the limiter, as its option `reserve`. */
  readonly reserve?: Readonly<Record<string, number>> | undefined
  /** The class of a request. Default: none. */
  readonly priority?: ((entry: LogEntry) => string | undefined) | undefined
}

interface WithPolicy extends LimiterSettings {
  /** One policy or several, or a function of the key. */
  readonly policy: PolicyInput | ((key: string) => PolicyInput)
  readonly limit?: undefined
  readonly window?: undefined
}

interface WithLimit extends LimiterSettings {
  /** Units allowed in any window: short for `policy: slidingWindow({ limit, window })`, named after
   *  the limiter, as middlewares name it. */
  readonly limit: number
  /** The window of `limit`: `60_000` or `'1m'`. */
  readonly window: Duration
  readonly policy?: undefined
}

/** A limiter's policy, or its limit and window, and what it is asked about a log entry. */
export type LimiterInput = WithPolicy | WithLimit

/**
 * What a policies file exports as its default: a policy, a list of policies, or limiters by name.
 */
export type PoliciesInput = PolicyInput | Readonly<Record<string, PolicyInput | LimiterInput>>

/** How a limiter is called that was given no name. */
export const UNNAMED = 'default'

/** A limiter, checked. */
export interface Limiter extends LimiterSettings, Pick<WithPolicy, 'policy'> {
  /** Undefined: the limiter was given no name, and is called `default`. */
  readonly name: string | undefined
  /** Its policies. Undefined: a function chooses them. */
  readonly uses: readonly PolicyUse[] | undefined
}

/**
 * @param from what errors call the input: `policies`, or the name of a file
 * @throws {SimulateError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_NOT_SIMULATED
 */
export function limitersOf(input: PoliciesInput, from = 'policies'): readonly Limiter[] {
  if (isUnnamed(input)) return [checkedLimiter(undefined, { policy: input }, from)]
  if (typeof input !== 'object' || input === null || Object.keys(input).length === 0) {
    const right = 'a policy, a list of policies, or limiters by their names'
    throw misuse(from, input, right, 'WEIR_INVALID_POLICY')
  }
  return Object.entries(input).map(([name, value]) => {
    const whose = `${from}: limiter ${quote(name)}`
    const isShort = isPolicy(value) || Array.isArray(value)
    return checkedLimiter(name, isShort ? { policy: value } : (value as LimiterInput), whose)
  })
}

/** Whether the input is one limiter without a name: a policy, or a list of policies. */
export function isUnnamed(input: PoliciesInput): input is PolicyInput {
  return isPolicy(input) || Array.isArray(input)
}

const FUNCTIONS = ['key', 'cost', 'skip', 'priority'] as const
const KNOWN: readonly string[] = ['policy', 'limit', 'window', 'reserve', ...FUNCTIONS]

function checkedLimiter(name: string | undefined, input: LimiterInput, whose: string): Limiter {
  const isShort = isLimitAndWindow(input)
  if (typeof input !== 'object' || input === null || isShort === hasPolicy(input)) {
    const right =
      'a policy, a list of policies, or { policy, key, cost, skip } with policy or limit and window'
    throw misuse(whose, input, right, 'WEIR_INVALID_POLICY')
  }
  const unknown = Object.keys(input).find((option) => !KNOWN.includes(option))
  if (unknown !== undefined) throw misuse(`${whose}, option`, unknown, `one of ${KNOWN.join(', ')}`)
  for (const option of FUNCTIONS) {
    const value: unknown = input[option]
    if (value !== undefined && typeof value !== 'function')
      throw misuse(`${whose}, ${option}`, value, 'a function of an entry of the log')
  }
  const policy = isShort ? policyOfLimiter(name, input, whose) : input.policy
  return { ...input, name, policy, uses: usesOf(policy, whose) }
}

/** Whether a limiter has a limit or a window of its own. */
export function isLimitAndWindow(input: unknown): input is WithLimit {
  const { limit, window } = (input ?? {}) as Partial<WithLimit>
  return !isPolicy(input) && (limit !== undefined || window !== undefined)
}

export function hasPolicy(input: object): input is WithPolicy {
  return (input as Partial<WithPolicy>).policy !== undefined
}

/**
 * What middlewares make of `limit` and `window`.
 * @param name the limiter's; `default` is that of one without a name
 * @throws {SimulateError} WEIR_INVALID_POLICY
 */
export function policyOfLimiter(
  name: string | undefined,
  { limit, window }: WithLimit,
  whose: string,
): Policy {
  try {
    return slidingWindow({ name: name === UNNAMED ? undefined : name, limit, window })
  } catch (error) {
    throw misused('WEIR_INVALID_POLICY', `${whose}: ${(error as Error).message}`, error)
  }
}

function usesOf(policy: Limiter['policy'], whose: string): readonly PolicyUse[] | undefined {
  if (typeof policy === 'function') {
    if (!('factor' in policy)) return undefined
    const why = 'follows the load of its process, which no log has'
    throw misused(
      'WEIR_NOT_SIMULATED',
      `${whose} has an adaptive policy, which ${why}; give the
policy that it scales`.replace('\n', ' '),
    )
  }
  const given: readonly (Policy | PolicyUse)[] = Array.isArray(policy) ? policy : [policy]
  const uses = given.map((one) => (isPolicy(one) ? { policy: one } : (one as PolicyUse)))
  for (const use of uses) if (isPolicy(use?.policy)) checkSimulated(use.policy, whose)
  return uses
}

/** @throws {SimulateError} WEIR_NOT_SIMULATED */
export function checkSimulated(policy: Policy, whose: string): void {
  const why = whyRefused(policy)
  if (why === undefined) return
  const what = `${whose} has the policy ${quote(policy.name)}, a ${policy.algorithm}`
  throw misused('WEIR_NOT_SIMULATED', `${what}, which is not simulated: ${why}; leave it out`)
}
