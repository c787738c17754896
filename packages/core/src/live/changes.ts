// Changes to settings, made the same way by `livePolicies` and the command line.

import { invalid, rangeError } from '../base/errors.js'
import type { Time } from '../base/time.js'
import type { SettingAnswer, Settings } from '../settings.js'
import { MAX_OVERRIDES } from './checks.js'
import { type Field, fieldOf } from './fields.js'

/** The settings under one name, and the clock by which they are followed and changed. */
export interface NamedSettings {
  readonly settings: Settings
  /** The name of the `livePolicies`. */
  readonly name: string
  readonly time: Time
}

/** A change takes effect this long after it is made, so that all processes hear of it first. */
export const LEAD_MS = 1_500

interface FieldChange {
  readonly field: string
  /** `''` removes the field. */
  readonly value: string
}

/** @throws {RangeError} WEIR_TOO_MANY_OVERRIDES */
export async function changeField(
  { settings, name, time }: NamedSettings,
  { field, value }: FieldChange,
): Promise<SettingAnswer> {
  const id = `${time.random().toString(36).slice(2)}${time.random().toString(36).slice(2)}`
  const request = { id, leadUs: LEAD_MS * 1_000, field, value, most: MAX_OVERRIDES }
  const answer = await settings.change(name, request)
  if (answer.outcome !== 'full') return answer
  const what = `"${name}" has ${MAX_OVERRIDES} overrides, and may have no more`
  const remedy = 'remove some, use prefixes, or take limits from a database by limitsFrom'
  throw rangeError('WEIR_TOO_MANY_OVERRIDES', `${what}; ${remedy}`)
}

/**
 * Sets all fields back to their values in a version, each by a new change.
 * @param check throws where a value must not be stored again; called for all before any is stored
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_TOO_MANY_OVERRIDES, and what `check`
 * throws
 */
export async function rollBack(
  at: NamedSettings,
  version: number,
  check: (field: Field, value: string) => void,
): Promise<readonly SettingAnswer[]> {
  const before = await fieldsOfVersion(at, version)
  for (const { field: text, value } of before) {
    const field = fieldOf(text)
    if (field !== undefined && value !== '') check(field, value)
  }
  const answers: SettingAnswer[] = []
  for (const each of before) answers.push(await changeField(at, each))
  return answers
}

/** The fields that have changed since a version, with their values in it; those to be removed come
 *  first. */
async function fieldsOfVersion(
  { settings, name }: NamedSettings,
  of: number,
): Promise<readonly FieldChange[]> {
  const { version, changes = [] } = await settings.news(name)
  const fields = new Map<string, string>()
  let at = version
  for (const change of changes.toReversed()) {
    if (change.version !== at || at === of) break
    fields.set(change.field, change.was)
    at -= 1
  }
  if (at !== of) {
    const right = `a whole number from ${at} to ${version}: the store remembers no others`
    throw invalid('WEIR_INVALID_OPTION', 'version', of, right, 'number')
  }
  const all = [...fields].map(([field, value]) => ({ field, value }))
  return all.sort((one, two) => Number(one.value !== '') - Number(two.value !== ''))
}

/** All fields that are set. */
export async function fieldsOf({ settings, name }: NamedSettings): Promise<Map<string, string>> {
  const fields = new Map<string, string>()
  let cursor = '0'
  do {
    const page = await settings.page(name, cursor)
    for (const [field, value] of page.fields) fields.set(field, value)
    cursor = page.next
  } while (cursor !== '0')
  return fields
}
