// Whether somebody watches: from the first viewer until 10 s after the last, so that a viewer who
// reloads the page finds what was seen before.

import type { Time } from '../time.js'

const LINGER_MS = 10_000

export class Watching {
  readonly #time: Time
  readonly #changed: (isWatching: boolean) => void
  #viewers = 0
  #isWatching = false
  #cancel: (() => void) | undefined

  constructor(time: Time, changed: (isWatching: boolean) => void) {
    this.#time = time
    this.#changed = changed
  }

  /** A viewer has come. Returns a function to call once when the viewer is gone. */
  enter(): () => void {
    this.#viewers += 1
    this.#cancel?.()
    this.#cancel = undefined
    this.#set(true)
    return () => {
      this.#viewers -= 1
      if (this.#viewers === 0) this.#cancel = this.#time.after(LINGER_MS, () => this.#set(false))
    }
  }

  close(): void {
    this.#cancel?.()
    this.#set(false)
  }

  #set(isWatching: boolean): void {
    if (isWatching === this.#isWatching) return
    this.#isWatching = isWatching
    this.#changed(isWatching)
  }
}
