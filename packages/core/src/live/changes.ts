// What changes settings: `livePolicies` and the command line do it alike.

import { invalid } from '../base/errors.js'
import type { SettingAnswer, Settings } from '../settings.js'
import { checkNotFull, MAX_OVERRIDES } from './checks.js'
import { LEAD_MS } from './follower.js'

interface FieldChange {
  readonly field: string
  /** `''` removes the field. */
  readonly value: string
}

/** @throws {RangeError} WEIR_TOO_MANY_OVERRIDES */
export async function changeField(
  settings: Settings,
  name: string,
  { field, value }: FieldChange,
  random: () => number,
): Promise<SettingAnswer> {
  const id = `${random().toString(36).slice(2)}${random().toString(36).slice(2)}`
  const request = { id, leadUs: LEAD_MS * 1_000, field, value, most: MAX_OVERRIDES }
  const answer = await settings.change(name, request)
  checkNotFull(answer, name)
  return answer
}

/**
 * What fields were in a version: of those that have changed since, what was removed first.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 */
export async function fieldsOfVersion(
  settings: Settings,
  name: string,
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
export async function fieldsOf(settings: Settings, name: string): Promise<Map<string, string>> {
  const fields = new Map<string, string>()
  let cursor = '0'
  do {
    const page = await settings.page(name, cursor)
    for (const [field, value] of page.fields) fields.set(field, value)
    cursor = page.next
  } while (cursor !== '0')
  return fields
}
