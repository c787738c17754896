// Names of keys in Redis: <prefix>:{<tag>}:<limiter>:<policy>[:<own key>]:<kernel and version of its state>
// With a bounded number of hash tags: <prefix>:{<one of them>}:<limiter>:<policy>:<tag>[:<own key>]:<kernel ...>
//
// Only the tag and an own key come from outside. They are encoded so that nothing in them can empty or move the hash tag,
// or run into the next part; long ones, and texts that UTF-8 cannot carry, are replaced by a hash.

import { createHash } from 'node:crypto'
import type { OwnKey, Plan, Subject } from '../store.js'
import { SLOTS, slotOf } from './slots.js'

const PLAIN = /^[A-Za-z0-9_.~-]{1,128}$/
const LONGEST = 128
const LONE_SURROGATE = /\p{Surrogate}/u

/** What the key names of a plan have in common: for each policy, what stands before and after the own key. */
export interface KeyNames {
  readonly head: string
  /** Undefined: each key has a hash tag of its own. */
  readonly hashTags: readonly string[] | undefined
  readonly parts: readonly { readonly name: string; readonly kernel: string; readonly tail: string }[]
}

export function keyNames(prefix: string, plan: Plan, hashTags?: readonly string[]): KeyNames {
  const parts = plan.policies.map((policy) => {
    const name = `}:${plan.name}:${policy.name}:`
    const kernel = policy.kernel?.id as string
    return { name, kernel, tail: name + kernel }
  })
  return { head: `${prefix}:{`, hashTags, parts }
}

/** Adds the key of each policy of a plan to `keys`. */
export function keysOf(names: KeyNames, { key, ownKeys }: Subject, keys: string[]): string[] {
  const { head, hashTags, parts } = names
  if (hashTags !== undefined) {
    for (let i = 0; i < parts.length; i += 1) {
      const { name, kernel } = parts[i] as KeyNames['parts'][number]
      const { key: own, tag } = ownKeys?.[i] ?? { key, tag: key }
      const text = own === tag ? encodePart(tag) : `${encodePart(tag)}:${encodePart(own)}`
      keys.push(`${head}${hashTagOf(tag, hashTags)}${name}${text}:${kernel}`)
    }
    return keys
  }
  const tagged = head + encodePart(key)
  for (let i = 0; i < parts.length; i += 1) {
    const { name, kernel, tail } = parts[i] as KeyNames['parts'][number]
    const own = ownKeys?.[i]
    keys.push(own === undefined ? tagged + tail : ownKeyName(head, own, name, kernel))
  }
  return keys
}

/** A tag that is not the own key does not tell who is limited, so the own key stands beside it. */
function ownKeyName(head: string, { key, tag }: OwnKey, name: string, kernel: string): string {
  const own = tag === key ? '' : `${encodePart(key)}:`
  return head + encodePart(tag) + name + own + kernel
}

/** So many hash tags that their slots are spread evenly: each the first of t0, t1, ... that falls into its part of them. */
export function spreadHashTags(count: number): readonly string[] {
  const tags = new Array<string>(count)
  for (let n = 0, found = 0; found < count; n += 1) {
    const place = Math.floor((slotOf(`t${n}`) * count) / SLOTS)
    if (tags[place] !== undefined) continue
    tags[place] = `t${n}`
    found += 1
  }
  return tags
}

/** The hash tag of a key's tag: its own; or, of a bounded number, the same one in every process. */
export function hashTagOf(tag: string, hashTags: readonly string[] | undefined): string {
  const own = encodePart(tag)
  return hashTags === undefined ? own : (hashTags[slotOf(own) % hashTags.length] as string)
}

/** A part of a key name: as it is, percent-encoded, or `#` and the base64url of its SHA-256. */
export function encodePart(text: string): string {
  if (PLAIN.test(text)) return text
  if (text.length <= LONGEST && !LONE_SURROGATE.test(text)) {
    const encoded = encodeURIComponent(text).replace(
      /[!'()*]/g,
      (mark) => `%${mark.charCodeAt(0).toString(16)}`,
    )
    if (encoded.length <= LONGEST) return encoded
  }
  // UTF-16, because UTF-8 would turn every lone surrogate into the same replacement character.
  return `#${createHash('sha256').update(text, 'utf16le').digest('base64url')}`
}

/** For what is remembered of clients: it must not grow with the length of what they send. */
export function encodedIfLong(text: string): string {
  return text.length > LONGEST ? encodePart(text) : text
}
