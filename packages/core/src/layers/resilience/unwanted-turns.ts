// Turns of a bucket that the store reserved, and said so too late: whoever waited was given another
// turn, or none. They are given back.

import type { Time } from '../../base/time.js'
import { IGNORED, type Layer, type LayerRequest } from '../../layer.js'
import { correctionOf } from '../../request.js'
import type { StoreResult } from '../../store.js'

export class UnwantedTurns {
  readonly #store: Layer
  readonly #time: Time
  readonly #cancels: LayerRequest[] = []

  constructor(store: Layer, time: Time) {
    this.#store = store
    this.#time = time
  }

  add({ target, costs }: LayerRequest, result: StoreResult): void {
    if (result.granted === 0) return
    this.#cancels.push({ ...correctionOf('cancel', target, costs, result), isForStore: true })
    if (this.#cancels.length > 1) return
    // Of all replies of a turn of the event loop the last first, as later turns stand on earlier.
    this.#time.soon(() => {
      for (const cancel of this.#cancels.splice(0).reverse()) this.#store.ask(cancel, IGNORED)
    })
  }
}
