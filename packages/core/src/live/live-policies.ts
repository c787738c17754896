// Named policies whose numbers are kept in the store: changed for the whole fleet by one call.

import { checkedName, type Policy } from '../algorithms/policy.js'
import { policyText } from '../algorithms/policy-from.js'
import { Recent } from '../base/cache.js'
import { invalid, quote, StoreError, typeError } from '../base/errors.js'
import { LONGEST_KEY, nameOfKey } from '../base/key-name.js'
import { textOfGiven } from '../base/key-text.js'
import { type Checks, checkAll, ofType, unchecked } from '../base/options.js'
import { processTime, type Time } from '../base/time.js'
import { notify, warnOnce } from '../base/warnings.js'
import type { Store } from '../store.js'
import { changeField, fieldsOf, fieldsOfVersion } from './changes.js'
import { checkedDefaults, checkedOverrideKey, checkNamed, settingsOf } from './checks.js'
import { type Field, fieldOf, textOfField } from './fields.js'
import { Follower, LEAD_MS } from './follower.js'
import { Held } from './held.js'
import { processesOf, processOf, Reporting, reporterOf } from './reports.js'
import type {
  LivePolicies,
  LivePoliciesOptions,
  LiveProcess,
  LiveStatus,
  OverrideKey,
  PolicyAnswer,
  PolicyOfKey,
} from './types.js'

/**
 * Named policies whose numbers are kept in the store, and can be changed for all processes by one
 * call, here or by `npx weir limits`. A change is checked, stored with a version, and holds in all
 * processes from the same instant, 1.5 s later. Until the store has been read, and where it has
 * nothing, the defaults hold; when it cannot be read, what was read last.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME, WEIR_INVALID_POLICY
 * @example
 * const limits = livePolicies(store, {
 *   name: 'plans',
 *   defaults: { 'plan-pro': tokenBucket({ name: 'api', capacity: 20, refill: 10, every: '1s' }) },
 * })
 * const limiter = new RateLimiter({ name: 'api', store, policy: limits.policy('plan-pro') })
 * const twice = tokenBucket({ name: 'api', capacity: 40, refill: 20, every: '1s' })
 * await limits.set('plan-pro', twice)
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

const LOST = {
  restored: 'they were written back as this process knew them, beside what was set since',
  replaced: 'too many were set since for them to be written back',
}

/** `livePolicies` in another time than the process's. */
export function livePoliciesIn<Name extends string>(
  time: Time,
  store: Store,
  options: LivePoliciesOptions<Name>,
): LivePolicies<Name> {
  checkAll(options, 'livePolicies()', CHECKS)
  const { onChange, onFailure } = options
  const name = checkedName(options.name, 'name of live policies')
  const settings = settingsOf(store)
  const defaults = checkedDefaults(options.defaults)
  const functions = new Map<string, PolicyOfKey>()
  const hiddenKeys = new Recent<string>(10_000)

  function failed(error: unknown): void {
    notify('onFailure', name, () => onFailure?.(error as Error))
  }

  const held = new Held(defaults, (field, why, error) => {
    const what = `a stored policy of "${name}" is refused, ${quote(field)}: ${why}`
    warnOnce('WEIR_SETTING_REFUSED', name, `${what}; what was before it holds`)
    failed(error)
  })

  const follower = new Follower({
    settings,
    name,
    time,
    prepare: (fields) => held.prepare(fields),
    loaded: (fields) => held.load(fields),
    changed(change, lateMs) {
      const applied = held.apply(change)
      if (applied !== undefined) notify('onChange', name, () => onChange?.({ ...applied, lateMs }))
    },
    failed(error) {
      const why = error instanceof StoreError ? error.message : quote(error)
      const what = `the policies of "${name}" cannot be read from the store: ${why}`
      const then = 'those that were read last hold, or the defaults'
      warnOnce('WEIR_SETTINGS_UNREAD', name, `${what}; ${then}`)
      failed(error)
    },
    lost(how) {
      const what = `the store has lost the policies of "${name}"; ${LOST[how]}`
      warnOnce('WEIR_SETTINGS_LOST', `${name} ${how}`, what)
      failed(new Error(what))
    },
    asked: () => reporting.report(),
  })

  const textOf = reporterOf(defaults)
  const reporting = new Reporting({
    settings,
    name,
    time,
    textOf: () => textOf(status(), held.refused),
    failed(error) {
      // Of a store that cannot be read either there was a warning.
      if (follower.isFailing) return
      const why = error instanceof Error ? error.message : quote(error)
      const what = `this process cannot report its policies of "${name}": ${why}`
      warnOnce('WEIR_SETTINGS_UNREPORTED', name, `${what}; they hold all the same`)
    },
  })

  function status(): LiveStatus {
    const { version, pending, heardAtMs, currentAtMs = Number.NEGATIVE_INFINITY } = follower
    const nowMs = time.nowMs()
    return {
      name,
      version,
      pending,
      overrides: held.overrideCount,
      refused: held.refused.size,
      heardMsAgo: heardAtMs === undefined ? undefined : nowMs - heardAtMs,
      isCurrent: nowMs - currentAtMs <= LEAD_MS,
    }
  }

  function undeclared(given: unknown, known: Iterable<string>): Error {
    const right = `one of ${[...known].map(quote).join(', ')}`
    return invalid('WEIR_INVALID_NAME', `name of a policy of "${name}"`, given, right, 'string')
  }

  function checkDeclared(of: string): void {
    if (!defaults.has(of)) throw undeclared(of, defaults.keys())
  }

  function policyFor(of: string, key?: unknown): Policy {
    const policy = held.policy(of)
    if (policy === undefined) throw undeclared(of, defaults.keys())
    const overrides = held.overridesOf(policy)
    const text = overrides && textOfGiven(key)
    return text === undefined ? policy : (overrides?.of(text, nameAmong(text)) ?? policy)
  }

  /** What a key is called among the overrides. None of them is longer than a key may be. */
  function nameAmong(text: string): string {
    return text.length > LONGEST_KEY ? text : hidden(nameOfKey(text))
  }

  /** The name of a key, as the store shows it. */
  function hidden(key: string): string {
    if (settings.hidden === undefined) return key
    const known = hiddenKeys.get(key) ?? settings.hidden(key)
    hiddenKeys.set(key, known)
    return known
  }

  function overrideOf(given: OverrideKey, of: string): Field {
    if (!held.policyNames.includes(of)) throw undeclared(of, held.policyNames)
    const { kind, key } = checkedOverrideKey(given)
    if (kind === 'key') return { kind, name: of, key: hidden(key) }
    if (settings.hidden === undefined) return { kind, name: of, key }
    const problem = 'a store with hashKeys does not know what keys begin with'
    throw typeError('WEIR_INVALID_OPTION', `${problem}; override single keys`)
  }

  /** This process, where the store cannot tell. */
  function own(): LiveProcess {
    const report = { process: reporting.mark, text: textOf(status(), held.refused) }
    return processOf(report) as LiveProcess
  }

  /** Another version of the application may have other policies. */
  function isHere(field: Field | undefined): field is Field {
    return field !== undefined && (field.kind !== 'policy' || defaults.has(field.name))
  }

  async function change(field: Field, policy: Policy | undefined): Promise<PolicyAnswer> {
    const value = policy === undefined ? '' : policyText(policy)
    const answer = await changeField(
      settings,
      name,
      { field: textOfField(field), value },
      time.random,
    )
    return { ...held.describe(answer, field), isChanged: answer.outcome === 'changed' }
  }

  return {
    policy(of) {
      checkDeclared(of)
      const known = functions.get(of)
      if (known !== undefined) return known
      const ofKey = (key?: unknown): Policy => policyFor(of, key)
      const made = Object.assign(ofKey, { takesKey: true } as const)
      functions.set(of, made)
      return made
    },
    for: policyFor,
    async set(of, policy) {
      checkDeclared(of)
      const field = { kind: 'policy', name: of } as const
      held.check(field, policy)
      return change(field, policy)
    },
    async unset(of) {
      checkDeclared(of)
      return change({ kind: 'policy', name: of }, undefined)
    },
    async override(key, policy) {
      checkNamed(policy, 'policy of an override')
      const field = overrideOf(key, policy.name)
      held.check(field, policy)
      return change(field, policy)
    },
    async remove(key, of) {
      const [only, ...others] = held.policyNames
      const name = of ?? (others.length === 0 ? only : undefined)
      return change(overrideOf(key, name as string), undefined)
    },
    async rollback(version) {
      const fields = await fieldsOfVersion(settings, name, version)
      for (const { field, value } of fields) held.checkStored(field, value)
      const answers: PolicyAnswer[] = []
      for (const each of fields) {
        const answer = await changeField(settings, name, each, time.random)
        const field = fieldOf(each.field)
        if (!isHere(field)) continue
        const isChanged = answer.outcome === 'changed'
        answers.push({ ...held.describe(answer, field), isChanged })
      }
      return answers
    },
    overrides: () => held.overrides,
    async history() {
      const { changes = [] } = await settings.news(name)
      return changes.toReversed().flatMap((each) => {
        const field = fieldOf(each.field)
        return isHere(field) ? [held.describe(each, field)] : []
      })
    },
    refresh: () => follower.refresh(),
    status,
    async list() {
      const [{ version }, fields, known] = await Promise.all([
        settings.news(name),
        fieldsOf(settings, name),
        processesOf(settings, name),
      ])
      const set = [...fields].map(([text, value]) => {
        const field = fieldOf(text)
        return field && { ...field, policy: held.readable(value) }
      })
      return {
        version,
        settings: set.filter((each) => each !== undefined),
        processes: known.length === 0 ? [own()] : known,
      }
    },
    close() {
      follower.close()
      reporting.close()
    },
  }
}
