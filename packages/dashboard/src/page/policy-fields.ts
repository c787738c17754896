// A policy as the fields of a dialog: one for each number, duration and name of its options, and
// one for all others as JSON.

import type { Field, Values } from './dialog.js'
import { shown } from './format.js'

type Options = Readonly<Record<string, unknown>>

const HINT = 'Such as 30s, 15m, 1h or 1d'
const REST = 'other'

/** @param fixed options that stay as they are, and are not shown */
export function policyFields(policy: object, fixed: readonly string[]): readonly Field[] {
  const { algorithm: _, ...options } = policy as Options
  const given = Object.entries(options).filter(([name]) => !fixed.includes(name))
  const rest = Object.fromEntries(given.filter(([, value]) => !isPlain(value)))
  return [
    ...given
      .filter(([, value]) => isPlain(value))
      .map(([name, value]): Field => {
        const label = shown(name.charAt(0).toUpperCase() + name.slice(1))
        const isNumber = typeof value === 'number'
        const about = isNumber || name === 'name' || name === 'unit' ? {} : { hint: HINT }
        return { name, label, kind: isNumber ? 'number' : 'text', value: String(value), ...about }
      }),
    {
      name: REST,
      label: 'Other options, as JSON',
      kind: 'json',
      value: JSON.stringify(rest, undefined, 1).replace(/\n\s*/g, ' '),
    },
  ]
}

function isPlain(value: unknown): value is number | string {
  return typeof value === 'number' || typeof value === 'string'
}

/**
 * The policy with the fields' values.
 * @throws Error that says what is wrong with a value
 */
export function policyOf(policy: object, values: Values): object {
  const { [REST]: rest = '{}', ...texts } = values
  const was = policy as Options
  const options: Record<string, unknown> = { algorithm: was.algorithm }
  for (const [name, value] of Object.entries(was)) {
    const text = texts[name]
    if (text !== undefined) options[name] = typeof value === 'number' ? numberOf(name, text) : text
    else if (isPlain(value)) options[name] = value
  }
  return { ...options, ...objectIn(rest) }
}

function numberOf(name: string, text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value
  throw new Error(`${shown(name)} is “${shown(text, 40)}”; give a number from 0, such as 100.`)
}

function objectIn(text: string): object {
  let value: unknown
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text)
  } catch {
    throw new Error('The other options are not JSON.')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new Error('The other options are no JSON object.')
}
