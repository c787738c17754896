// Names for limiters that nobody has named, made of what they limit.

import { sha256 } from '../base/sha256.js'

const LONGEST = 64
const HASH_LENGTH = 10

/** The text itself if it is a valid name; else its beginning, and a hash of the whole. */
export function limiterName(text: string): string {
  if (text.length <= LONGEST && /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text)) return text
  const hash = sha256(text).slice(0, HASH_LENGTH)
  const plain = text.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^[^A-Za-z0-9]+/, '')
  const begin = plain.slice(0, LONGEST - HASH_LENGTH - 1)
  return begin === '' ? hash : `${begin}-${hash}`
}
