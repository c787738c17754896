// How keys are shown: masked, unless asked for.

import { createHmac, randomBytes } from 'node:crypto'

export type ShowKey = (key: string) => string

const LONGEST = 200

/** Makes the function that shows of keys only a mark, by which equal keys are equal in this
 *  process, and in no other. */
export function keyMarker(): ShowKey {
  const secret = randomBytes(16)
  return (key) => `…~${createHmac('sha256', secret).update(key).digest('hex').slice(0, 4)}`
}

/**
 * Makes the function that shows keys: whole, or their start, at most three characters of ten or
 * more, and a mark.
 */
export function keyShower(showKeys: boolean, mark: ShowKey): ShowKey {
  if (showKeys) return (key) => (key.length > LONGEST ? `${key.slice(0, LONGEST)}…` : key)
  return (key) => `${startOf(key)}${mark(key)}`
}

/** By characters, not by halves of them. */
function startOf(key: string): string {
  const characters = [...key.slice(0, 20)]
  const most = characters.length >= 10 ? 3 : characters.length >= 6 ? 2 : 0
  return characters.slice(0, most).join('')
}
