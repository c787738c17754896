// A Chromium for tests of pages.

import { askFinder } from './binary.js'

let found: string | undefined

/** The path of a Chromium: WEIR_CHROMIUM, or whatever servers/chromium.mjs finds or fetches. */
export function chromiumBinary(): string {
  found ??= askFinder('chromium')
  return found
}
