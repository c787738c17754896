// @ts-check
// A completion from its estimate to its settlement, whatever comes between.

import { costOf, estimateOf } from './limits.js'

/** @typedef {import('./limits.js').Completion} Completion */
/** A piece of text, and what the completion has used so far.
 *  @typedef {{ text: string, usage: import('./limits.js').Usage }} Piece */
/** @typedef {(completion: Completion, signal: AbortSignal) => AsyncIterable<Piece>} Model */
/** @typedef {Pick<import('@weir/core').RateLimiter, 'consume' | 'settle'>} Limiter */
/** Who asked.
 *  @typedef {object} Client
 *  @property {(decision: import('@weir/core').Decision) => void} decided
 *  @property {(piece: Piece) => unknown} write may wait until the client has read enough */

/**
 * Charges the estimate, streams from the model to the client, and settles by what was used: all of
 * it, what there was until the client left or the model broke off, or nothing where the model
 * failed at once. If this process dies, the estimate stands.
 * @param {{ limiter: Limiter, model: Model }} gateway
 * @param {{ customer: string, completion: Completion, signal: AbortSignal }} request `signal`: the
 * client has left
 * @param {Client} client
 * @returns {Promise<boolean>} whether it was allowed
 */
export async function complete({ limiter, model }, { customer, completion, signal }, client) {
  const cost = costOf(estimateOf(completion))
  const decision = await limiter.consume(customer, { cost })
  client.decided(decision)
  if (!decision.allowed) return false
  let used = { input: 0, output: 0 }
  try {
    for await (const piece of model(completion, signal)) {
      used = piece.usage
      await client.write(piece)
    }
  } finally {
    // A failed settlement is not repeated, and no reason to fail what was streamed.
    await limiter.settle(decision, costOf(used)).catch((error) => {
      console.error(`not settled: ${error.message}`)
    })
  }
  return true
}
