// What `weir limits` does with the settings of a store.

import { checkedName, counterOf, type Policy } from '../algorithms/policy.js'
import { policyFrom, policyIn, policyText } from '../algorithms/policy-from.js'
import { invalid, quote, typeError } from '../base/errors.js'
import { changeField, fieldsOf, type NamedSettings, rollBack } from '../live/changes.js'
import { checkNamed, overrideOf } from '../live/checks.js'
import { type Field, fieldOf, textOfField } from '../live/fields.js'
import { processesOf } from '../live/reports.js'
import type { OverrideKey } from '../live/types.js'
import type { SettingAnswer, SettingChange } from '../settings.js'
import {
  checkFits,
  checkSome,
  defaultOf,
  defaultsIn,
  laggardsIn,
  namesOf,
  remarksOn,
} from './fleet.js'

/** Which settings, of which store. */
export interface Place extends NamedSettings {
  /** Whether to write without asking what processes have. */
  readonly isForced: boolean
}

/** What is said of a field. Somebody may have written it by hand. */
function title(text: string): string {
  const field = fieldOf(text)
  if (field === undefined) return printed(text)
  if (field.kind === 'policy') return printed(field.name)
  const whose = `${JSON.stringify(field.key)}${field.kind === 'prefix' ? '...' : ''}`
  return printed(`${field.name} of ${whose}`)
}

/** @returns lines to print */
export async function listLimits(place: Place): Promise<string[]> {
  const { settings, name } = place
  const [{ version }, fields, processes] = await Promise.all([
    settings.news(name),
    fieldsOf(place),
    processesOf(place),
  ])
  const { length } = processes
  const set = [...fields].map(([field, value]) => {
    const remarks = remarksOn(processes, field).map((remark) => printed(`; ${remark}`))
    return `${title(field)}  ${printed(value)}${remarks.join('')}`
  })
  const defaults = defaultsIn(processes)
    .filter(({ name: of }) => !fields.has(textOfField({ kind: 'policy', name: of })))
    .map(({ name: of, text, count }) => {
      const where = count === length ? '' : ` of ${count} of ${length} processes`
      return `${of}  ${text}; the default${where}`
    })
  // A wrong name looks like one that nothing is set of.
  const hint = length === 0 ? ' in the last 15 s; are --name, --redis and --prefix right?' : ''
  return [
    `"${name}", version ${version}, ${length} ${length === 1 ? 'process' : 'processes'}${hint}`,
    ...[...set, ...defaults].sort(),
    ...laggardsIn(processes, version).map(printed),
  ]
}

export async function limitsHistory({ settings, name }: Place): Promise<string[]> {
  const { changes = [] } = await settings.news(name)
  if (changes.length === 0) return [`"${name}" has never been changed`]
  return changes.toReversed().map((change) => {
    const { version, nowUs, field, value, was } = change
    const at = new Date(nowUs / 1_000).toISOString()
    return `${version}  ${at}  ${title(field)}  ${told(was)} -> ${told(value)}`
  })
}

/**
 * @param json undefined: back to the default
 * @throws {TypeError | RangeError} what `policyFrom` and `checkFits` throw
 */
export async function setLimit(place: Place, of: string, json?: string): Promise<string[]> {
  const field = { kind: 'policy', name: checkedName(of, 'name of the policy') } as const
  const policy = json === undefined ? undefined : policyFrom(json)
  return change(place, field, policy)
}

export async function overrideLimit(
  place: Place,
  key: OverrideKey,
  json: string,
): Promise<string[]> {
  const policy = policyFrom(json)
  checkNamed(policy, 'policy')
  const field = overrideOf(place.settings, policy.name, key)
  return change(place, field, policy)
}

/** @param of the name of the policies that were overridden; undefined: the only one */
export async function removeOverride(
  place: Place,
  key: OverrideKey,
  of?: string,
): Promise<string[]> {
  const [only, ...others] = of === undefined ? await overriddenBy(place, key) : [of]
  if (only === undefined || others.length > 0) {
    const known = others.length > 0 ? `: one of ${[only, ...others].map(quote).join(', ')}` : ''
    const what = 'the name of the overridden policy is missing'
    throw typeError('WEIR_INVALID_NAME', `${what}; give it after the key${known}`)
  }
  const policyName = checkedName(only, 'name of the overridden policy')
  return change(place, overrideOf(place.settings, policyName, key), undefined)
}

/** Names of policies that a key has overrides of, or could have. */
async function overriddenBy(place: Place, key: OverrideKey): Promise<readonly string[]> {
  const fields = [...(await fieldsOf(place)).keys()].map(fieldOf)
  const isOfKey = (field: Field | undefined): field is Field =>
    field !== undefined &&
    textOfField(overrideOf(place.settings, field.name, key)) === textOfField(field)
  const set = fields.filter(isOfKey)
  if (set.length > 0) return set.map(({ name }) => name).sort()
  return namesOf(await processesOf(place), 'key')
}

/** @param text the version */
export async function rollBackLimits(place: Place, text: string): Promise<string[]> {
  const { name, isForced } = place
  if (!/^\d{1,15}$/.test(text))
    throw invalid('WEIR_INVALID_OPTION', 'version', text, 'one that weir limits history shows')
  const version = Number(text)
  const processes = await processesOf(place)
  const answers = await rollBack(place, version, (field, value) => {
    if (!isForced) checkFits(processes, name, field, policyFrom(value))
  })
  if (answers.length > 0) return answers.map((answer) => sentence(answer))
  if (!isForced) checkSome(processes, name)
  return [`"${name}" is already at version ${version}`]
}

async function change(place: Place, field: Field, policy: Policy | undefined): Promise<string[]> {
  const { name, isForced } = place
  if (policy !== undefined) checkNamed(policy, 'policy')
  const text = textOfField(field)
  const processes = await processesOf(place)
  // What no process has any more may be removed.
  const isStray = policy === undefined && (await fieldsOf(place)).has(text)
  if (!isForced && !isStray) checkFits(processes, name, field, policy)
  const value = policy === undefined ? '' : policyText(policy)
  const answer = await changeField(place, { field: text, value })
  return [sentence(answer, defaultOf(processes, field))]
}

/** @param otherwise what holds where nothing is set */
function sentence(
  { outcome, version, activeUs, ...change }: SettingAnswer,
  otherwise?: Policy,
): string {
  const of = title(change.field)
  if (outcome === 'same')
    return `${of}: ${told(change.value)} already, nothing changed, version ${version}`
  const what = `${of}: ${told(change.was)} -> ${told(change.value)}`
  const at = new Date(activeUs / 1_000).toISOString()
  return `${what}, version ${version}, from ${at} on${countOf(change, otherwise)}`
}

function countOf({ value, was }: Pick<SettingChange, 'value' | 'was'>, otherwise?: Policy): string {
  const [before, after] = [was, value].map((each) => (each === '' ? otherwise : policyIn(each)))
  // Where nothing is limited, nothing is counted.
  if (before?.kernel === undefined || after?.kernel === undefined) return ''
  const isSame = counterOf(before) === counterOf(after)
  return isSame ? '; what was used counts on' : '; another time scale, so the count begins anew'
}

function told(value: string): string {
  return value === '' ? '(not set)' : printed(value)
}

/** As JSON has it, but nothing that a terminal would obey, or show as something else. */
export function printed(value: string): string {
  return value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const units = character.split('').map((unit) => unit.charCodeAt(0))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })
}
