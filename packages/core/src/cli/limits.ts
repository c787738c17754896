// What `weir limits` does with the settings of a store.

import { checkedName, counterOf, type Policy } from '../algorithms/policy.js'
import { policyFrom, policyText } from '../algorithms/policy-from.js'
import { invalid } from '../base/errors.js'
import {
  checkedOverrideKey,
  checkKind,
  checkNamed,
  checkNotFull,
  MAX_OVERRIDES,
} from '../live/checks.js'
import { fieldOf, overrideField, policyField } from '../live/fields.js'
import { LEAD_MS } from '../live/follower.js'
import type { OverrideKey } from '../live/types.js'
import type { SettingAnswer, SettingChange, Settings } from '../settings.js'

/** What is said of a field. */
function title(text: string): string {
  const field = fieldOf(text)
  if (field === undefined) return text
  if (field.kind === 'policy') return field.name
  const whose = `${JSON.stringify(field.key)}${field.kind === 'prefix' ? '...' : ''}`
  return `${field.name} of ${whose}`
}

/** @returns lines to print */
export async function listLimits(settings: Settings, name: string): Promise<string[]> {
  const { version } = await settings.news(name)
  const lines = [...(await fieldsOf(settings, name))]
    .sort()
    .map(([field, value]) => `${title(field)}  ${printed(value)}`)
  return [`"${name}", version ${version}`, ...lines]
}

export async function limitsHistory(settings: Settings, name: string): Promise<string[]> {
  const { changes = [] } = await settings.news(name)
  return changes.toReversed().map((change) => {
    const { version, nowUs, field, value, was } = change
    const at = new Date(nowUs / 1_000).toISOString()
    return `${version}  ${at}  ${title(field)}  ${told(was)} -> ${told(value)}`
  })
}

/** @throws {TypeError | RangeError} what `policyFrom` throws, and for another kind than is set */
export async function setLimit(
  settings: Settings,
  name: string,
  of: string,
  json: string | undefined,
): Promise<string[]> {
  const field = policyField(checkedName(of, 'name of the policy'))
  return change(settings, name, field, json === undefined ? undefined : policyFrom(json))
}

export async function overrideLimit(
  settings: Settings,
  name: string,
  key: OverrideKey,
  json: string,
): Promise<string[]> {
  const policy = policyFrom(json)
  checkNamed(policy, 'policy')
  return change(settings, name, overrideOf(settings, policy.name, key), policy)
}

/** @param of the name of the policies that were overridden */
export async function removeOverride(
  settings: Settings,
  name: string,
  of: string,
  key: OverrideKey,
): Promise<string[]> {
  const field = overrideOf(settings, checkedName(of, 'name of the overridden policy'), key)
  return change(settings, name, field, undefined)
}

function overrideOf({ hidden }: Settings, of: string, given: OverrideKey): string {
  const { kind, key } = checkedOverrideKey(given)
  if (hidden === undefined) return overrideField(kind, of, key)
  if (kind === 'key') return overrideField(kind, of, hidden(key))
  const right = 'single keys, as the store has hashKeys'
  throw invalid('WEIR_INVALID_OPTION', '--under', key, right)
}

async function change(
  settings: Settings,
  name: string,
  field: string,
  policy: Policy | undefined,
): Promise<string[]> {
  if (policy !== undefined) {
    checkNamed(policy, 'policy')
    const before = readable((await fieldsOf(settings, name)).get(field) ?? '')
    if (before !== undefined) checkKind(policy, before, field.startsWith('='))
  }
  const random = (): string => Math.random().toString(36).slice(2)
  const answer = await settings.change(name, {
    id: random() + random(),
    leadUs: LEAD_MS * 1_000,
    field,
    value: policy === undefined ? '' : policyText(policy),
    most: MAX_OVERRIDES,
  })
  checkNotFull(answer, name)
  return [sentence(answer)]
}

async function fieldsOf(settings: Settings, name: string): Promise<Map<string, string>> {
  const fields = new Map<string, string>()
  let cursor = '0'
  do {
    const page = await settings.page(name, cursor)
    for (const [field, value] of page.fields) fields.set(field, value)
    cursor = page.next
  } while (cursor !== '0')
  return fields
}

function sentence({ outcome, version, activeUs, ...change }: SettingAnswer): string {
  const what = `${title(change.field)}: ${told(change.was)} -> ${told(change.value)}`
  if (outcome === 'same') return `${title(change.field)} is so already, in version ${version}`
  const at = new Date(activeUs / 1_000).toISOString()
  return `${what}, version ${version}, from ${at} on${countOf(change)}`
}

function countOf({ value, was }: Pick<SettingChange, 'value' | 'was'>): string {
  const [before, after] = [readable(was), readable(value)]
  if (before === undefined || after === undefined) return ''
  const isSame = counterOf(before) === counterOf(after)
  return isSame ? '; what was used counts on' : '; another time scale, so the count begins anew'
}

function readable(text: string): Policy | undefined {
  try {
    return text === '' ? undefined : policyFrom(text)
  } catch {
    return undefined
  }
}

function told(value: string): string {
  return value === '' ? '(not set)' : printed(value)
}

/** As JSON has it, but nothing that a terminal would obey. */
function printed(value: string): string {
  return value.replace(/[^\x20-\x7e]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
