// @ts-check
// What a customer may use, and what a completion costs.

import { concurrency, fixedWindow, RateLimiter, slidingWindow } from '@weir/core'

/** @typedef {{ requests: number, tokens: number, money: number, streams: number }} Limits */
/** @typedef {{ prompt: string, maxTokens: number }} Completion */
/** Tokens that were read and written. @typedef {{ input: number, output: number }} Usage */

/**
 * Requests and tokens a minute, money a day, and streams that are open at once: one decision, all
 * or nothing.
 * @param {import('@weir/core').Store} store
 * @param {Limits} limits
 */
export function limiterOn(store, limits) {
  return new RateLimiter({ name: 'llm-gateway', store, policy: policiesOf(limits) })
}

/**
 * @param {Limits} limits
 * @param {import('@weir/core').Duration} [holdTimeout]
 */
export function policiesOf({ requests, tokens, money, streams }, holdTimeout = '30s') {
  return [
    slidingWindow({ name: 'requests', limit: requests, window: '1m' }),
    slidingWindow({ name: 'tokens', unit: 'tokens', limit: tokens, window: '1m' }),
    fixedWindow({ name: 'money', limit: money, window: '1d', aligned: true }),
    // A stream that is open for longer is renewed; those of a gateway that crashed are free then.
    concurrency({ name: 'streams', limit: streams, holdTimeout }),
  ]
}

/**
 * What tokens cost, by the names of the policies; it is one stream in any case. Costs are whole
 * numbers, so money is counted in millionths of a dollar: 3 dollars for a million tokens that are
 * read, 15 for those written.
 * @param {Usage} usage
 */
export function costOf({ input, output }) {
  return { requests: 1, tokens: input + output, money: 3 * input + 15 * output }
}

/**
 * What a completion may use: a guess at the prompt, and all that it may write. Who estimates too
 * little lets more pass than the limit, by as much as is in flight; who estimates too much refuses
 * what would have fitted.
 * @param {Completion} completion
 * @returns {Usage}
 */
export function estimateOf({ prompt, maxTokens }) {
  return { input: Math.ceil(prompt.length / 4), output: maxTokens }
}
