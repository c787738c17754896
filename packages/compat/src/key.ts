// Keys as the middlewares make them, of any form: from a header that is missing, or as long as a
// client likes. Weir refuses empty and very long ones, which here would be an error, or a way past
// the limit where errors are passed on.

import { createHash } from 'node:crypto'

/** Weir keeps longer ones by their hash as well. */
const LONGEST = 256

export function keyOf(key: unknown): string {
  const text = String(key ?? '')
  if (text === '') return '(empty)'
  if (text.length <= LONGEST) return text
  return `sha256-${createHash('sha256').update(text, 'utf16le').digest('base64url')}`
}
