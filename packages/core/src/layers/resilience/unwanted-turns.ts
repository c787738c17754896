// Gives back turns of a bucket whose reservation the store reported too late: the call that waits
// was given another turn, or none.

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
    // Among the replies of one turn of the event loop, the last goes first: later turns build on
    // earlier ones.
    time.soon(() => {
      for (const cancel of cancels.splice(0).reverse()) store.ask(cancel, IGNORED)
    })
  }
}
