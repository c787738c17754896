// Turns of a bucket that the store reserved, and said so too late: whoever waited was given another
// turn, or none. They are given back.

import type { Time } from '../../base/time.js'
import { IGNORED, type Layer, type LayerRequest } from '../../layer.js'
import { correctionOf } from '../../request.js'
import type { StoreResult } from '../../store.js'

/** Gives back turns. */
export type UnwantedTurns = (request: LayerRequest, result: StoreResult) => void

export function unwantedTurns(store: Layer, time: Time): UnwantedTurns {
  const cancels: LayerRequest[] = []
  return ({ target, costs }, result) => {
    if (result.granted === 0) return
    cancels.push({ ...correctionOf('cancel', target, costs, result), isForStore: true })
    if (cancels.length > 1) return
    // Of all replies of a turn of the event loop the last first, as later turns stand on earlier.
    time.soon(() => {
      for (const cancel of cancels.splice(0).reverse()) store.ask(cancel, IGNORED)
    })
  }
}
