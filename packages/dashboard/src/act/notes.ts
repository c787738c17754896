// Notes on the last hundred actions.

import type { ActionNote } from '../protocol.js'

const MOST = 100

export class Notes {
  readonly #onAction: (note: ActionNote, key: string | undefined) => void
  /** The latest first. */
  #all: readonly ActionNote[] = []

  /** @param onAction called with each note; `key`: the whole key that the action was about */
  constructor(onAction: (note: ActionNote, key: string | undefined) => void) {
    this.#onAction = onAction
  }

  get all(): readonly ActionNote[] {
    return this.#all
  }

  add(note: ActionNote, key: string | undefined): void {
    this.#all = [note, ...this.#all].slice(0, MOST)
    this.#onAction(note, key)
  }
}
