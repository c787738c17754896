// How keys are shown: masked, unless asked for.

import { createHmac, randomBytes } from 'node:crypto'

export type ShowKey = (key: string) => string

const LONGEST = 200

/** Makes a function that shows only a mark of a key. Within this process, equal keys have equal
 *  marks; other processes have other marks. */
export function keyMarker(): ShowKey {
  const secret = randomBytes(16)
  return (key) => `…~${createHmac('sha256', secret).update(key).digest('hex').slice(0, 4)}`
}

/**
 * Makes a function that shows keys: whole, or as a mark after their start, which is at most three
 * characters of ten or more.
 */
export function keyShower(showKeys: boolean, mark: ShowKey): ShowKey {
  if (showKeys) return (key) => (key.length > LONGEST ? `${key.slice(0, LONGEST)}…` : key)
  return (key) => `${startOf(key)}${mark(key)}`
}

/** The key's start, by characters, so that none is cut in half. */
function startOf(key: string): string {
  const characters = [...key.slice(0, 20)]
  const most = characters.length >= 10 ? 3 : characters.length >= 6 ? 2 : 0
  return characters.slice(0, most).join('')
}
