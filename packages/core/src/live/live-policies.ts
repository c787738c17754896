// Named policies whose numbers are kept in the store: changed for the whole fleet by one call.

import { checkedName, type Policy } from '../algorithms/policy.js'
import { policyText } from '../algorithms/policy-from.js'
import { Recent } from '../base/cache.js'
import { LONGEST_KEY, nameOfKey } from '../base/key-name.js'
import { textOfGiven } from '../base/key-text.js'
import { type Checks, checkAll, ofType, unchecked } from '../base/options.js'
import { processTime, type Time } from '../base/time.js'
import type { SettingAnswer } from '../settings.js'
import type { Store } from '../store.js'
import { changeField, fieldsOf, type NamedSettings, rollBack } from './changes.js'
import {
  checkDeclared,
  checkedDefaults,
  checkNamed,
  overrideOf,
  settingsOf,
  undeclared,
} from './checks.js'
import { type Field, fieldOf, textOfField } from './fields.js'
import type { Held } from './held.js'
import { liveInProcess } from './process.js'
import { processesOf } from './reports.js'
import type { LivePolicies, LivePoliciesOptions, OverrideKey, PolicyAnswer } from './types.js'

/**
 * Named policies whose numbers are kept in the store, and are changed for all processes by one
 * call, here or by `npx weir limits`: see docs/live-limits.md.
 *
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME, WEIR_INVALID_POLICY
 * @example
 * const limits = livePolicies(store, {
 *   name: 'tiers',
 *   defaults: { pro: tokenBucket({ name: 'api', capacity: 20, refill: 10, every: '1s' }) },
 * })
 * const limiter = new RateLimiter({ name: 'api', store, policy: limits.policy('pro') })
 * await limits.set('pro', tokenBucket({ name: 'api', capacity: 40, refill: 20, every: '1s' }))
 */
export function livePolicies<Name extends string>(
  store: Store,
  options: LivePoliciesOptions<Name>,
): LivePolicies<Name> {
  return livePoliciesIn(processTime, store, options)
}

const CHECKS: Checks<LivePoliciesOptions> = {
  name: unchecked,
  defaults: unchecked,
  onChange: ofType('function'),
  onFailure: ofType('function'),
}

/** `livePolicies` by another clock than the process's. */
export function livePoliciesIn<Name extends string>(
  time: Time,
  store: Store,
  options: LivePoliciesOptions<Name>,
): LivePolicies<Name> {
  // First, so that options in the place of the store are what the error is about.
  const settings = settingsOf(store)
  checkAll(options, 'livePolicies()', CHECKS)
  const name = checkedName(options.name, 'name of live policies')
  const at = { settings, name, time }
  const { held, self, ...own } = liveInProcess(at, checkedDefaults(options.defaults), options)
  return {
    ...policiesOfKeys(held, at),
    ...edits(at, held),
    ...own,
    overrides: () => held.overrides,
    async list() {
      const [{ version }, fields, known] = await Promise.all([
        at.settings.news(name),
        fieldsOf(at),
        processesOf(at),
      ])
      const set = [...fields].map(([text, value]) => {
        const field = fieldOf(text)
        return field && { ...field, policy: held.readable(value) }
      })
      return {
        version,
        settings: set.filter((each) => each !== undefined),
        // A store that keeps no reports lists no processes.
        processes: known.length === 0 ? [self()] : known,
      }
    },
  }
}

/** How many hashes of keys are remembered, where the store hashes keys. */
const MOST_NAMES = 10_000

/** Which policy holds for a key: its override, or else the named policy. */
function policiesOfKeys(
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

  /** A key's name among the overrides. A key that is too long has no override. */
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

type Edits = Pick<
  LivePolicies<string>,
  'set' | 'unset' | 'override' | 'remove' | 'rollback' | 'history'
>

/** Changes that users make: checked against what this process knows, and written for all. */
function edits(at: NamedSettings, held: Held): Edits {
  function named(of: string): Field {
    checkDeclared(of, held.names, at.name)
    return { kind: 'policy', name: of }
  }

  function overridden(key: OverrideKey, of: string): Field {
    checkDeclared(of, held.policyNames, at.name)
    return overrideOf(at.settings, of, key)
  }

  function answerOf(answer: SettingAnswer, field: Field): PolicyAnswer {
    return { ...held.describe(answer, field), isChanged: answer.outcome === 'changed' }
  }

  async function change(field: Field, policy: Policy | undefined): Promise<PolicyAnswer> {
    const value = policy === undefined ? '' : policyText(policy)
    return answerOf(await changeField(at, { field: textOfField(field), value }), field)
  }

  /** Whether a field can be described here: another version of the application may have others. */
  function isHere(field: Field | undefined): field is Field {
    return field !== undefined && (field.kind !== 'policy' || held.isDeclared(field))
  }

  return {
    async set(of, policy) {
      const field = named(of)
      held.check(field, policy)
      return change(field, policy)
    },
    unset: async (of) => change(named(of), undefined),
    async override(key, policy) {
      checkNamed(policy, 'policy of an override')
      const field = overridden(key, policy.name)
      held.check(field, policy)
      return change(field, policy)
    },
    async remove(key, of) {
      const [only, ...others] = held.policyNames
      const name = of ?? (others.length === 0 ? only : undefined)
      return change(overridden(key, name as string), undefined)
    },
    async rollback(version) {
      const answers = await rollBack(at, version, (field, value) => held.checkStored(field, value))
      return answers.flatMap((answer) => {
        const field = fieldOf(answer.field)
        return isHere(field) ? [answerOf(answer, field)] : []
      })
    },
    async history() {
      const { changes = [] } = await at.settings.news(at.name)
      return changes.toReversed().flatMap((each) => {
        const field = fieldOf(each.field)
        return isHere(field) ? [held.describe(each, field)] : []
      })
    },
  }
}
