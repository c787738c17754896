// Middlewares make keys of any form: from a header that is missing, or as long as a client likes.
// Weir refuses empty and very long keys. Here that would be an error, or a way past the limit where
// a middleware lets requests pass on errors.

import { createHash } from 'node:crypto'

/** Weir also stores longer keys by their hash. */
const LONGEST = 256

export function keyOf(key: unknown): string {
  const text = String(key ?? '')
  if (text === '') return '(empty)'
  if (text.length <= LONGEST) return text
  return `sha256-${createHash('sha256').update(text, 'utf16le').digest('base64url')}`
}
