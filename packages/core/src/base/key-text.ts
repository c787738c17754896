// Keys as a process tells them apart.

import { shortName } from './key-hash.js'

interface TaggedKey {
  readonly key: string
  readonly tag: string
}

interface KeyOrKeys {
  readonly key: string
  readonly policyKeys?: readonly (TaggedKey | undefined)[] | undefined
}

/** The key under which all requests without a usable key are counted. */
// The NUL keeps it apart from what headers, addresses and paths can hold.
export const NO_KEY = '\0no-key'

/** The text of a key as a user gives it: a number is the same key as its text. Undefined: the value
 *  is not a key. */
export function textOfGiven(key: unknown): string | undefined {
  if (typeof key === 'string') return key
  return typeof key === 'number' || typeof key === 'bigint' ? String(key) : undefined
}

const LINE_FEED = 10

/**
 * A key as a process tells it from others. Lists of keys begin with a line feed and a bracket, and
 * a key that begins with a line feed gets one more, so that no key equals a list.
 */
export function textOfKey(key: string): string {
  return key.charCodeAt(0) === LINE_FEED ? `\n${key}` : key
}

/** The same for a policy key: in Redis, equal keys with different tags are different counters. */
export function textOfPolicyKey({ key, tag }: TaggedKey): string {
  return tag === key ? textOfKey(key) : `\n${JSON.stringify([tag, key])}`
}

/** Tells a target from others of its policy set. The id is bounded, as it must not grow with what
 *  clients send. */
export function idOf({ key, policyKeys }: KeyOrKeys): string {
  if (policyKeys === undefined) return shortName(textOfKey(key))
  const all = [key, ...policyKeys.map((own) => own && textOfPolicyKey(own))]
  return shortName(`\n${JSON.stringify(all)}`)
}

/** A target's id among requests with equal `keep`. No key and no list begins like this. */
export function idWithKeep(id: string, keep: readonly number[] | undefined): string {
  return keep === undefined ? id : `\n${keep.join()} ${id}`
}
