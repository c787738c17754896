// What a key is counted under: its name. Whoever chooses keys must not choose what they cost, so a
// long key is replaced by a hash where it enters, and whatever remembers keys knows how long they
// are. The hash has no secret, as all processes must come to the same one.

import { sha256 } from './sha256.js'

/** In UTF-16 units, as all lengths of texts. */
export const LONGEST_KEY = 8_192
const LONGEST_NAME = 256

/** What is counted under such a name is what has that hash, and nothing else. */
const HASH = /^#[0-9a-f]{64}$/
const HASH_LENGTH = 65

/** The last one that was hashed: live policies hash a key to find its policy, then the limiter. */
let lastText = ''
let lastName = ''

/**
 * The key itself; or `#` and the SHA-256 of a long one. A short key that looks like that is hashed
 * as well, so that no client is counted with another by giving the hash of its key.
 */
export function nameOfKey(text: string): string {
  const { length } = text
  if (length <= LONGEST_NAME && (length !== HASH_LENGTH || !HASH.test(text))) return text
  if (text === lastText) return lastName
  lastName = `#${sha256(text)}`
  lastText = text
  return lastName
}

/** Whether it is what a long key is counted under. */
export function isHashOfKey(text: string): boolean {
  return text.length === HASH_LENGTH && HASH.test(text)
}
