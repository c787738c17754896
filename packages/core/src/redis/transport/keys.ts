// Names of keys in Redis:
//
//   <prefix>:{<tag>}:<limiter>:<policy>[:<policy key>]:<kernel and version>-<time scale>
//
// With a bounded number of hash tags:
//
//   <prefix>:{<one of them>}:<limiter>:<policy>:<tag>[:<policy key>]:<kernel and ...>
//
// Only the tag and a policy key come from outside. They are encoded so that nothing in them can
// empty or move the hash tag, or run into the next part; long ones, and texts that UTF-8 cannot
// carry, are replaced by a hash.
//
// Other keys of a store: a key's mark, <key>:mark (call.ts), the processes that share a prefix,
// <prefix>:{instances} (../heartbeat.ts), whether somebody watches them,
// <prefix>:{instances}:watched (../watched.ts), settings, <prefix>:{settings:<name>}
// (../settings.ts), and <prefix>:{<tag>}:permissions, on which permissions are tried
// (../permissions.ts).

import { createHash, createHmac } from 'node:crypto'
import { counterOf } from '../../algorithms/policy.js'
import type { PolicySet, Target } from '../../store.js'
import { SLOTS, slotOf } from './hash-slot.js'

const LONGEST = 128
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
  /** Texts are hashed with a secret. */
  readonly isSecret: boolean
}

/** @param secret keys appear only as a hash with it */
export function keyFormat(
  prefix: string,
  hashTags?: readonly string[] | undefined,
  secret?: string | undefined,
): KeyFormat {
  if (secret === undefined)
    return { prefix, hashTags, tagged: encodeTag, part: encodePart, isSecret: false }
  // Half of the hash: 128 bits are enough that no two keys ever share it.
  const hashed = (text: string): string =>
    createHmac('sha256', secret).update(text, 'utf16le').digest().toString('base64url', 0, 16)
  return { prefix, hashTags, tagged: hashed, part: hashed, isSecret: true }
}

/**
 * What the key names of a policy set have in common: for each policy, what stands before and after
 * the policy key.
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
    const counter = encodePart(counterOf(policy))
    return { name, counter, tail: name + counter }
  })
  return { format, head: `${format.prefix}:{`, parts }
}

/** Adds the key of each policy of a policy set to `keys`. */
export function keysOf(names: KeyNames, { key, policyKeys }: Target, keys: string[]): string[] {
  const { format, head, parts } = names
  const { hashTags, part } = format
  let begin = ''
  let lastTag: string | undefined
  for (let i = 0; i < parts.length; i += 1) {
    const { name, counter, tail } = parts[i] as KeyNames['parts'][number]
    const own = policyKeys?.[i]
    const tag = own?.tag ?? key
    if (tag !== lastTag) begin = head + hashTagOf(format, tag)
    lastTag = tag
    // A hash tag that many share, or that is not the policy key, does not tell who is limited.
    let who = hashTags === undefined ? '' : `${part(tag)}:`
    if (own !== undefined && own.key !== tag) who += `${part(own.key)}:`
    keys.push(who === '' ? begin + tail : begin + name + who + counter)
  }
  return keys
}

/**
 * `count` hash tags whose slots are spread evenly: each is the first of t0, t1, ... whose slot lies
 * in its part of them.
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

/** The hash tag for a key's tag: the tag itself or, of a bounded number, one that is the same in
 *  every process. */
export function hashTagOf({ hashTags, tagged }: KeyFormat, tag: string): string {
  const own = tagged(tag)
  return hashTags === undefined ? own : (hashTags[slotOf(own) % hashTags.length] as string)
}

/** A text as it is, percent-encoded, or `#` and the base64url of its SHA-256. */
export const encodePart: (text: string) => string = encoder(/[A-Za-z0-9_.~-]/)

/**
 * The same for a text between the braces. Only a brace has a meaning there, so addresses and paths
 * stay as they are.
 */
export const encodeTag: (text: string) => string = encoder(/[A-Za-z0-9_.~:@/-]/)

/** @param plain the characters that stay as they are */
function encoder(plain: RegExp): (text: string) => string {
  // A table, as every key passes here: a regular expression takes several times as long.
  const table = Uint8Array.from({ length: 128 }, (_, code) =>
    plain.test(String.fromCharCode(code)) ? 1 : 0,
  )
  const isPlain = (text: string): boolean => {
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i)
      if (code > 127 || table[code] === 0) return false
    }
    return true
  }
  return (text) => {
    if (text.length <= LONGEST && isPlain(text)) return text
    if (text.length <= LONGEST && !LONE_SURROGATE.test(text)) {
      let codes = ''
      for (const sign of text) codes += isPlain(sign) ? sign : percentEncoded(sign)
      if (codes.length <= LONGEST) return codes
    }
    // UTF-16, because UTF-8 would turn every lone surrogate into the same replacement character.
    return `#${createHash('sha256').update(text, 'utf16le').digest('base64url')}`
  }
}

/** Percent-encodes all bytes of a character, even if `encodeURIComponent` leaves it as it is. */
function percentEncoded(sign: string): string {
  const code = encodeURIComponent(sign)
  return code === sign ? `%${sign.charCodeAt(0).toString(16).toUpperCase()}` : code
}
