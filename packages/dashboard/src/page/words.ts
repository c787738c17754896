// Policies in words.

import { count, duration, shown } from './format.js'

type Numbers = Readonly<Record<string, unknown>>

/** A policy, given as `policyFrom` reads it, in a few words. */
export function policyWords(policy: object): string {
  const { algorithm, name: _, ...options } = policy as Numbers
  const kind = shown(String(algorithm ?? 'policy')).replaceAll('-', ' ')
  return `${kind}: ${optionWords(options)}`
}

function optionWords(options: Numbers): string {
  const { limit, window, capacity, refill, every, period, ...rest } = options
  const words: string[] = []
  if (limit !== undefined) words.push(plain(limit) + (window ? ` per ${plain(window)}` : ''))
  else if (window !== undefined) words.push(`window ${plain(window)}`)
  if (capacity !== undefined) words.push(`capacity ${plain(capacity)}`)
  if (refill !== undefined) words.push(`refill ${plain(refill)} every ${plain(every ?? '1s')}`)
  else if (every !== undefined) words.push(`every ${plain(every)}`)
  if (period !== undefined) words.push(`each ${plain(period)}`)
  for (const [name, value] of Object.entries(rest)) words.push(`${shown(name)} ${plain(value)}`)
  return words.length === 0 ? 'no limit' : words.join(', ')
}

function plain(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? count(value) : String(value)
  return shown(typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value)))
}

/** How a change alters a policy: each option that differs, with both values; '' for none. */
export function changeWords(was: object | undefined, to: object): string {
  if (was === undefined) return policyWords(to)
  const before = was as Numbers
  const after = to as Numbers
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changes = names
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => `${shown(name)} from ${optionOf(before[name])} to ${optionOf(after[name])}`)
  return changes.join(', ')
}

function optionOf(value: unknown): string {
  return value === undefined ? 'nothing' : plain(value)
}

/** A policy's limit in words. Undefined: it differs by request, or limits concurrent requests, for
 *  which there is no window. */
export function limitWords(limit: number | undefined, windowMs: number | undefined): string {
  if (limit === undefined) return 'set by each request'
  return windowMs === undefined
    ? `${count(limit)} at once`
    : `${count(limit)} in ${duration(windowMs)}`
}
