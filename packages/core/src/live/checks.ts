// Checks of live policies, where users hand them in and again where they are read from the store.

import { checkedName, checkPolicy, isSameKind, type Policy } from '../algorithms/policy.js'
import { policyText } from '../algorithms/policy-from.js'
import { invalid, quote, typeError } from '../base/errors.js'
import { isHashOfKey, LONGEST_KEY, nameOfKey } from '../base/key-name.js'
import type { Settings } from '../settings.js'
import type { Store } from '../store.js'
import type { OverrideField } from './fields.js'
import type { OverrideKey } from './types.js'

/** Each takes about 1 kB of memory if all are different. */
export const MAX_OVERRIDES = 10_000
const LONGEST_PREFIX = 512

/** @throws {TypeError} WEIR_INVALID_OPTION for a store without settings */
export function settingsOf(store: Store): Settings {
  const { settings } = (store ?? {}) as Partial<Store>
  if (settings !== undefined) return settings
  const right = 'redisStore(...), memoryStore(), or one that has settings'
  throw invalid('WEIR_INVALID_OPTION', 'store', store, right)
}

/**
 * An unnamed policy is named after its numbers, so its name would change with them.
 * @throws {TypeError} WEIR_INVALID_POLICY
 */
export function checkNamed(policy: Policy, what: string): void {
  checkPolicy(policy, what)
  if (policy.nameWithoutLimit === undefined) return
  const why = 'has no name, and a count that goes on when numbers change needs one'
  throw typeError('WEIR_INVALID_POLICY', `${what} ${quote(policy.name)} ${why}; give it a name`)
}

/**
 * @param name the name of the live policies
 * @throws {TypeError} WEIR_INVALID_NAME
 */
export function checkDeclared(of: string, known: readonly string[], name: string): void {
  if (!known.includes(of)) throw undeclared(of, known, name)
}

export function undeclared(
  given: string,
  known: readonly string[],
  name: string,
  otherwise: string = '',
): Error {
  const right = `one of ${known.map(quote).join(', ')}${otherwise}`
  return invalid('WEIR_INVALID_NAME', `name of a policy of "${name}"`, given, right, 'string')
}

/**
 * @param like a policy with the right name and algorithm
 * @throws {TypeError} WEIR_INVALID_POLICY
 */
export function checkKind(policy: Policy, like: Policy, isOverride: boolean): void {
  // A default without a limit may be given one, and an override may lift a limit.
  const mayDiffer = like.kernel === undefined || (isOverride && policy.kernel === undefined)
  const isRight = mayDiffer || isSameKind(policy, like)
  if (policy.name === like.name && isRight) return
  const right = `a policy of the name ${quote(like.name)} and the algorithm ${like.algorithm}`
  throw invalid('WEIR_INVALID_POLICY', 'policy', policy, right)
}

/**
 * A long key may also be given by its hash, which lists of overrides show.
 * @throws {TypeError | RangeError} WEIR_INVALID_KEY
 */
export function checkedOverrideKey(given: OverrideKey): {
  readonly kind: 'key' | 'prefix'
  readonly key: string
} {
  const prefix: unknown = (given as { prefix?: unknown } | undefined | null)?.prefix
  if (isTextUpTo(LONGEST_PREFIX, prefix)) return { kind: 'prefix', key: prefix }
  if (isTextUpTo(LONGEST_KEY, given))
    return { kind: 'key', key: isHashOfKey(given) ? given : nameOfKey(given) }
  const right = `a text of 1 to ${LONGEST_KEY} characters, or { prefix: one of ${LONGEST_PREFIX} }`
  throw invalid('WEIR_INVALID_KEY', 'key of an override', given, right, 'string')
}

/**
 * The override of a key or a prefix, as the store knows it.
 * @param of the name of the policies that it replaces
 * @throws {TypeError | RangeError} WEIR_INVALID_KEY; WEIR_INVALID_OPTION for a prefix where the
 * store hashes keys
 */
export function overrideOf({ hidden }: Settings, of: string, given: OverrideKey): OverrideField {
  const { kind, key } = checkedOverrideKey(given)
  if (hidden === undefined) return { kind, name: of, key }
  if (kind === 'key') return { kind, name: of, key: hidden(key) }
  const problem = 'a store with hashKeys does not know what keys begin with'
  throw typeError('WEIR_INVALID_OPTION', `${problem}; override single keys`)
}

function isTextUpTo(longest: number, given: unknown): given is string {
  return typeof given === 'string' && given !== '' && given.length <= longest
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME, WEIR_INVALID_POLICY */
export function checkedDefaults(defaults: object): ReadonlyMap<string, Policy> {
  const isObject = typeof defaults === 'object' && defaults !== null && !Array.isArray(defaults)
  const given = new Map(isObject ? Object.entries(defaults as Record<string, Policy>) : [])
  if (given.size === 0) {
    const right = 'an object with a policy for each name'
    throw invalid('WEIR_INVALID_OPTION', 'defaults', defaults, right)
  }
  const known = new Map<string, Policy>()
  for (const [name, policy] of given) {
    checkedName(name, 'name of a live policy')
    checkNamed(policy, `the default of ${quote(name)}`)
    // Throws if the policy cannot be written as text, and so cannot be stored.
    policyText(policy)
    const other = known.get(policy.name)
    if (other !== undefined) checkKind(policy, other, true)
    if (other === undefined || other.kernel === undefined) known.set(policy.name, policy)
  }
  return given
}
