// Middlewares make keys of any form: from a header that is missing, or as long as a client likes.
// Weir refuses empty and very long keys. Here that would be an error, or a way past the limit where
// a middleware lets requests pass on errors.
//
// Clients choose keys, so no two may have one name. A key is its own name, except:
//
//   no key                           NO_KEY of @weir/core, which begins with a NUL
//   a key of a route or a throttler  \n and a JSON array: the names of these, and the key
//   a very long one                  \n# and a hash
//   one that begins as these do      \n and the key

import { createHash } from 'node:crypto'
import { NO_KEY } from '@weir/core/internal'

/** The longest key that Weir takes. */
const LONGEST = 8_192

/** @param within names that the limiter puts before its keys */
export function keyOf(key: unknown, within: readonly string[] = []): string {
  const text = String(key ?? '')
  const name = within.length > 0 ? `\n${JSON.stringify([...within, text])}` : alone(text)
  if (name.length <= LONGEST) return name
  return `\n#${createHash('sha256').update(name, 'utf16le').digest('base64url')}`
}

function alone(text: string): string {
  if (text === '') return NO_KEY
  return text.startsWith('\n') || text.startsWith('\0') ? `\n${text}` : text
}
