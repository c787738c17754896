// @ts-check
// One completion, from its estimate to its settlement, however it ends.

import { budgetsOf, costOf, estimateOf, PART } from './limits.js'

/** @typedef {import('./limits.js').Usage} Usage */
/** A piece of text, and the usage of the completion so far.
 *  @typedef {{ text: string, usage: Usage }} Piece */
/** @typedef {(model: import('./limits.js').Model, completion: import('./limits.js').Completion,
 *  signal: AbortSignal) => AsyncIterable<Piece>} Ask */
/** @typedef {Pick<import('@weir/core').RateLimiter, 'acquire' | 'settle' | 'block'>} Limiter */
/** The client that asked.
 *  @typedef {object} Client
 *  @property {(decision: import('@weir/core').Decision, model: import('./limits.js').Model,
 *  low: string[]) => void} decided `low`: the budgets of which less than a fifth is left
 *  @property {(piece: Piece) => unknown} write may wait until the client has read enough
 *  @property {(budget: string) => void} stopped a budget was used up while the model wrote */

/** The provider says when it may be asked again. */
export class ProviderBusy extends Error {
  /** @param {number} retryAfterMs */
  constructor(retryAfterMs) {
    super(`it is busy for ${retryAfterMs} ms`)
    this.retryAfterMs = retryAfterMs
  }
}

const NOTHING = { turns: 0, tools: 0, input: 0, output: 0 }

/**
 * Charges an estimate, and streams from the model to the client. When the model has written the
 * part that was charged, that part is settled to what was used, and the next part is charged; if a
 * budget has nothing left, the stream stops there. The last part is settled when the stream ends,
 * the client leaves, or the model fails. If this process dies, the part that it had charged comes
 * back after `holdTimeout`.
 * @param {{ limiter: Limiter, ask: Ask }} gateway
 * @param {{ run: string, completion: import('./limits.js').Completion, signal: AbortSignal }}
 * request `signal` aborts when the client has left
 * @param {Client} client
 * @returns {Promise<boolean>} whether the request was allowed
 */
export async function complete({ limiter, ask }, { run, completion, signal }, client) {
  const estimate = estimateOf(completion)
  let part = await limiter.acquire(run, { cost: costOf('large', estimate) })
  const low = budgetsOf(part)
    .filter(({ limit, remaining }) => remaining < limit / 5)
    .map(({ policy }) => policy.name)
  // What does not fit at the price of one model may fit at that of the other.
  const short = part.allowed ? low : [...low, part.policy.name]
  const model = short.includes('user') || short.includes('company') ? 'small' : 'large'
  if (!part.allowed && model === 'small')
    part = await limiter.acquire(run, { cost: costOf(model, estimate) })
  client.decided(part, model, low)
  if (!part.allowed) return false

  let used = NOTHING
  let settled = NOTHING
  let charged = estimate.output
  /** Never rejects: a stream that was sent must not fail as Redis is away. */
  async function settle() {
    const { turns, tools, input, output } = settled
    const actual = {
      turns: used.turns - turns,
      tools: used.tools - tools,
      input: used.input - input,
      output: used.output - output,
    }
    settled = used
    await limiter.settle(part, costOf(model, actual)).catch(report)
  }
  try {
    for await (const piece of ask(model, completion, signal)) {
      used = piece.usage
      await client.write(piece)
      if (used.output <= charged) continue
      await settle()
      const tools = Math.max(0, completion.maxTools - used.tools)
      charged = used.output + PART
      part = await limiter.acquire(run, {
        cost: costOf(model, { ...NOTHING, tools, output: PART }),
      })
      if (!part.allowed) {
        client.stopped(part.policy.name)
        return true
      }
    }
  } catch (error) {
    if (error instanceof ProviderBusy)
      await limiter.block('provider', Math.min(error.retryAfterMs, DAY)).catch(report)
    throw error
  } finally {
    if (part.allowed) await settle()
  }
  return true
}

const DAY = 86_400_000

/** @param {Error} error */
function report({ message }) {
  console.error(`not noted in Redis: ${message}`)
}
