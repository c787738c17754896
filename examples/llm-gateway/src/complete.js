// @ts-check
// A completion from its estimate to its settlement, whatever comes between.

import { costOf, estimateOf } from './limits.js'

/** @typedef {import('./limits.js').Completion} Completion */
/** A piece of text, and what the completion has used so far.
 *  @typedef {{ text: string, usage: import('./limits.js').Usage }} Piece */
/** @typedef {(completion: Completion, signal: AbortSignal) => AsyncIterable<Piece>} Model */
/** @typedef {Pick<import('@weir/core').RateLimiter, 'acquire' | 'settle'>} Limiter */
/** Who asked.
 *  @typedef {object} Client
 *  @property {(decision: import('@weir/core').Decision) => void} decided
 *  @property {(piece: Piece) => unknown} write may wait until the client has read enough */

/**
 * Charges the estimate, streams from the model to the client, and settles by what was used: all of
 * it, what there was until the client left or the model broke off, or nothing where the model
 * failed at once. The stream counts as open until the model has ended. If this process dies, the
 * estimate stands, and the stream is open for another half a minute.
 * @param {{ limiter: Limiter, model: Model }} gateway
 * @param {{ customer: string, completion: Completion, signal: AbortSignal }} request `signal`: the
 * client has left
 * @param {Client} client
 * @returns {Promise<boolean>} whether it was allowed
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
    // In one write. What fails here is not repeated, and no reason to fail what was streamed.
    const ends = [limiter.settle(held, costOf(used)), held.release()]
    for (const end of await Promise.allSettled(ends))
      if (end.status === 'rejected') console.error(`not settled or released: ${end.reason}`)
  }
  return true
}
