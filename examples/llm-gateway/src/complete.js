// @ts-check
// One completion, from its estimate to its settlement, however it ends.

import { costOf, estimateOf } from './limits.js'

/** @typedef {import('./limits.js').Completion} Completion */
/** A piece of text, and the usage of the completion so far.
 *  @typedef {{ text: string, usage: import('./limits.js').Usage }} Piece */
/** @typedef {(completion: Completion, signal: AbortSignal) => AsyncIterable<Piece>} Model */
/** @typedef {Pick<import('@weir/core').RateLimiter, 'acquire' | 'settle'>} Limiter */
/** The client that asked.
 *  @typedef {object} Client
 *  @property {(decision: import('@weir/core').Decision) => void} decided
 *  @property {(piece: Piece) => unknown} write may wait until the client has read enough */

/**
 * Charges the estimate, streams from the model to the client, and settles the charge to what was
 * used: all of the response; the part that was sent before the client left or the model broke off;
 * or nothing, if the model failed at once. The stream counts as open until the model has ended. If
 * this process dies, the estimate stays charged, and the stream counts as open for another half a
 * minute.
 * @param {{ limiter: Limiter, model: Model }} gateway
 * @param {{ customer: string, completion: Completion, signal: AbortSignal }} request `signal`
 * aborts when the client has left
 * @param {Client} client
 * @returns {Promise<boolean>} whether the request was allowed
 */
export async function complete({ limiter, model }, { customer, completion, signal }, client) {
  const cost = costOf(estimateOf(completion))
  const held = await limiter.acquire(customer, { cost })
  client.decided(held)
  if (!held.allowed) return false
  let used = { input: 0, output: 0 }
  try {
    for await (const piece of model(completion, signal)) {
      used = piece.usage
      await client.write(piece)
    }
  } finally {
    // Both calls travel in one write. A failure here is not retried, and must not fail a response
    // that was already streamed.
    const ends = [limiter.settle(held, costOf(used)), held.release()]
    for (const end of await Promise.allSettled(ends))
      if (end.status === 'rejected') console.error(`not settled or released: ${end.reason}`)
  }
  return true
}
