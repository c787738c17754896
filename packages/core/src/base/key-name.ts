// The name under which a key is counted. Clients may choose keys, but not what they cost: a long
// key is replaced by a hash where it enters, so code that remembers keys knows how long they can
// be. The hash has no secret, as all processes must arrive at the same one.

import { sha256 } from './sha256.js'

/** In UTF-16 units, like all lengths of texts. */
export const LONGEST_KEY = 8_192
const LONGEST_NAME = 256

/** Only a key with that hash is counted under such a name. */
const HASH = /^#[0-9a-f]{64}$/
const HASH_LENGTH = 65

/** The last key hashed: live policies hash a key to find its policy, then the limiter does. */
let lastText = ''
let lastName = ''

/**
 * The key itself, or for a long key `#` and its SHA-256. A short key that looks like such a hash is
 * hashed as well, so that no client can be counted as another by sending the hash of that client's
 * key.
 */
export function nameOfKey(text: string): string {
  const { length } = text
  if (length <= LONGEST_NAME && (length !== HASH_LENGTH || !HASH.test(text))) return text
  if (text === lastText) return lastName
  lastName = `#${sha256(text)}`
  lastText = text
  return lastName
}

/** Whether a long key is counted under this name. */
export function isHashOfKey(text: string): boolean {
  return text.length === HASH_LENGTH && HASH.test(text)
}
