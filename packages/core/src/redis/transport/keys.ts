// Names of keys in Redis:
//
//   <prefix>:{<tag>}:<limiter>:<policy>[:<own key>]:<kernel and version of its state>-<time scale>
//
// With a bounded number of hash tags: <prefix>:{<one of them>}:<limiter>:<policy>:<tag>[:<own
// key>]:<kernel ...>
//
// Only the tag and an own key come from outside. They are encoded so that nothing in them can empty
// or move the hash tag, or run into the next part; long ones, and texts that UTF-8 cannot carry,
// are replaced by a hash.

import { createHash, createHmac } from 'node:crypto'
import { counterOf } from '../../algorithms/policy.js'
import type { OwnKey, PolicySet, Target } from '../../store.js'
import { SLOTS, slotOf } from './hash-slot.js'

const LONGEST = 128
/**
 * Between the braces nothing but a brace has a meaning, so addresses and paths stay as they are.
 */
const PLAIN_TAG = /^[A-Za-z0-9_.~:@/-]{1,128}$/
const PLAIN_PART = /^[A-Za-z0-9_.~-]{1,128}$/
const LONE_SURROGATE = /\p{Surrogate}/u

/** How a store writes its keys. */
export interface KeyFormat {
  readonly prefix: string
  /** Undefined: each key has a hash tag of its own. */
  readonly hashTags: readonly string[] | undefined
  /** A text as it stands between the braces. */
  readonly tagged: (text: string) => string
  /** A text as a part of a key outside of the braces. */
  readonly part: (text: string) => string
}

/** @param secret keys appear only as a hash with it */
export function keyFormat(
  prefix: string,
  hashTags?: readonly string[] | undefined,
  secret?: string | undefined,
): KeyFormat {
  if (secret === undefined) return { prefix, hashTags, tagged: encodeTag, part: encodePart }
  // Half of the hash: 128 bits, so that no two of any number of keys are ever the same.
  const hashed = (text: string): string =>
    createHmac('sha256', secret).update(text, 'utf16le').digest().toString('base64url', 0, 16)
  return { prefix, hashTags, tagged: hashed, part: hashed }
}

/**
 * What the key names of a policy set have in common: for each policy, what stands before and after
 * the own key.
 */
export interface KeyNames {
  readonly format: KeyFormat
  readonly head: string
  readonly parts: readonly {
    readonly name: string
    readonly counter: string
    readonly tail: string
  }[]
}

export function keyNames(format: KeyFormat, policySet: PolicySet): KeyNames {
  const parts = policySet.policies.map((policy) => {
    const name = `}:${policySet.name}:${policy.name}:`
    const counter = counterOf(policy)
    return { name, counter, tail: name + counter }
  })
  return { format, head: `${format.prefix}:{`, parts }
}

/** Adds the key of each policy of a policy set to `keys`. */
export function keysOf(names: KeyNames, { key, ownKeys }: Target, keys: string[]): string[] {
  const { format, head, parts } = names
  const { hashTags, tagged, part } = format
  if (hashTags !== undefined) {
    for (let i = 0; i < parts.length; i += 1) {
      const { name, counter } = parts[i] as KeyNames['parts'][number]
      const { key: own, tag } = ownKeys?.[i] ?? { key, tag: key }
      const text = own === tag ? part(tag) : `${part(tag)}:${part(own)}`
      keys.push(`${head}${hashTagOf(format, tag)}${name}${text}:${counter}`)
    }
    return keys
  }
  const begin = head + tagged(key)
  for (let i = 0; i < parts.length; i += 1) {
    const { name, counter, tail } = parts[i] as KeyNames['parts'][number]
    const own = ownKeys?.[i]
    keys.push(own === undefined ? begin + tail : head + ownKeyName(format, own, name) + counter)
  }
  return keys
}

/** A tag that is not the own key does not tell who is limited, so the own key stands beside it. */
function ownKeyName({ tagged, part }: KeyFormat, { key, tag }: OwnKey, name: string): string {
  return tagged(tag) + name + (tag === key ? '' : `${part(key)}:`)
}

/**
 * So many hash tags that their slots are spread evenly: each the first of t0, t1, ... that falls
 * into its part of them.
 */
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
export function hashTagOf({ hashTags, tagged }: KeyFormat, tag: string): string {
  const own = tagged(tag)
  return hashTags === undefined ? own : (hashTags[slotOf(own) % hashTags.length] as string)
}

/** As it is, percent-encoded, or `#` and the base64url of its SHA-256. */
export function encodePart(text: string): string {
  return PLAIN_PART.test(text) ? text : encoded(text, PLAIN_PART)
}

/** As a part, but `:`, `@` and `/` stay as they are. */
export function encodeTag(text: string): string {
  return PLAIN_TAG.test(text) ? text : encoded(text, PLAIN_TAG)
}

function encoded(text: string, plain: RegExp): string {
  if (text.length <= LONGEST && !LONE_SURROGATE.test(text)) {
    let codes = ''
    for (const sign of text) codes += plain.test(sign) ? sign : percentEncoded(sign)
    if (codes.length <= LONGEST) return codes
  }
  return hashOf(text)
}

/** All of its bytes, also of signs that `encodeURIComponent` leaves as they are. */
function percentEncoded(sign: string): string {
  const code = encodeURIComponent(sign)
  return code === sign ? `%${sign.charCodeAt(0).toString(16).toUpperCase()}` : code
}

/** UTF-16, because UTF-8 would turn every lone surrogate into the same replacement character. */
function hashOf(text: string): string {
  return `#${createHash('sha256').update(text, 'utf16le').digest('base64url')}`
}
