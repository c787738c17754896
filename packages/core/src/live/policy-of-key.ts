// Which policy holds for a key: its override, or else the named policy.

import type { Policy } from '../algorithms/policy.js'
import { Recent } from '../base/cache.js'
import { LONGEST_KEY, nameOfKey } from '../base/key-name.js'
import { textOfGiven } from '../base/key-text.js'
import { checkDeclared, undeclared } from './checks.js'
import type { Held } from './held.js'
import type { NamedSettings } from './named-settings.js'
import type { LivePolicies } from './types.js'

/** Names of keys that are remembered, where the store hashes keys. */
const MOST_NAMES = 10_000

export function policiesOfKeys(
  held: Held,
  { name, settings: { hidden } }: NamedSettings,
): Pick<LivePolicies<string>, 'policy' | 'for'> {
  const functions = new Map<string, ReturnType<LivePolicies<string>['policy']>>()
  const names = new Recent<string>(MOST_NAMES)

  function policyFor(of: string, key?: unknown): Policy {
    const policy = held.policy(of)
    if (policy === undefined) throw undeclared(of, held.names, name)
    const overrides = held.overridesOf(policy)
    const text = overrides && textOfGiven(key)
    return text === undefined ? policy : (overrides?.of(text, nameAmong(text)) ?? policy)
  }

  /** What a key is called among the overrides. None of them is longer than a key may be. */
  function nameAmong(text: string): string {
    if (text.length > LONGEST_KEY) return text
    const key = nameOfKey(text)
    if (hidden === undefined) return key
    const known = names.get(key) ?? hidden(key)
    names.set(key, known)
    return known
  }

  return {
    policy(of) {
      checkDeclared(of, held.names, name)
      const known = functions.get(of)
      if (known !== undefined) return known
      const ofKey = (key?: unknown): Policy => policyFor(of, key)
      const made = Object.assign(ofKey, { takesKey: true } as const)
      functions.set(of, made)
      return made
    },
    for: policyFor,
  }
}
