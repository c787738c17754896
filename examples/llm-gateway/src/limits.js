// @ts-check
// What a customer may use, and what a completion costs.

import { concurrency, fixedWindow, RateLimiter, slidingWindow } from '@weir/core'

/** @typedef {{ requests: number, tokens: number, money: number, streams: number }} Limits */
/** @typedef {{ prompt: string, maxTokens: number }} Completion */
/** Tokens read and written. @typedef {{ input: number, output: number }} Usage */

/**
 * Requests and tokens a minute, money a day, and open streams: one decision, all or nothing.
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
    // A stream that stays open for longer is renewed. If a gateway crashes, its streams are free
    // after this time.
    concurrency({ name: 'streams', limit: streams, holdTimeout }),
  ]
}

/**
 * The cost of these tokens, by the names of the policies. Each completion is also one request; its
 * stream is charged when the slot is taken. Costs are whole numbers, so money is counted in
 * millionths of a dollar: 3 dollars for a million tokens read, 15 for a million written.
 * @param {Usage} usage
 */
export function costOf({ input, output }) {
  return { requests: 1, tokens: input + output, money: 3 * input + 15 * output }
}

/**
 * What a completion may use: a guess at the prompt, and all the tokens that it may write. An
 * estimate that is too low lets more pass than the limit, by as much as is in flight; one that is
 * too high refuses requests that would have fitted.
 * @param {Completion} completion
 * @returns {Usage}
 */
export function estimateOf({ prompt, maxTokens }) {
  return { input: Math.ceil(prompt.length / 4), output: maxTokens }
}
