// Durations, policies and texts of unknown origin, in words.

import type { Policy } from '@weir/core'

/** As in JSON, without characters that a terminal would obey or show as something else. */
export function printed(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const units = character.split('').map((unit) => unit.charCodeAt(0))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration in at most two units, rounded up: `6 h 12 min`, `34.2 s`, `340 ms`. */
export function lasting(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return 'for ever'
  if (ms < 1_000) return `${Math.ceil(ms)} ms`
  if (ms < 60_000) return `${(Math.ceil(ms / 100) / 10).toFixed(1)} s`
  const at = UNITS.findIndex(([, unitMs]) => ms >= unitMs)
  const [unit, unitMs] = UNITS[at] as (typeof UNITS)[number]
  const [next, nextMs] = UNITS[at + 1] as (typeof UNITS)[number]
  const roundedMs = Math.ceil(ms / nextMs) * nextMs
  // 59 min and 59.5 s are 1 h.
  if (roundedMs > ms) return lasting(roundedMs)
  const whole = Math.floor(ms / unitMs)
  const rest = (ms - whole * unitMs) / nextMs
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${next}`
}

/** A policy as data: the options that its factory was given. */
export function dataOf(policy: Policy): Readonly<Record<string, unknown>> {
  const { algorithm, options, limit, timeScale } = policy
  return options === undefined ? { algorithm, limit, timeScale } : { algorithm, ...options }
}

export function policyText(policy: Policy): string {
  return printed(JSON.stringify(dataOf(policy)))
}

/** Whether two policies are the same. */
export function isSame(one: Policy, other: Policy): boolean {
  return one.signature === other.signature
}

/** A count with its noun, in the singular or the plural. */
export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
