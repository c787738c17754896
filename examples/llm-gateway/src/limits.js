// @ts-check
// What a run, its session, its user and their company may spend, and what a completion costs.

import { budget, lockout, RateLimiter } from '@weir/core'

/** Turns, tool calls and tokens; of the user and the company, millionths of a dollar.
 *  @typedef {{ turns: number, tools: number, tokens: number, user: number, company: number }}
 *  Limits */
/** @typedef {{ prompt: string, maxTokens: number, maxTools: number }} Completion */
/** @typedef {{ turns: number, tools: number, input: number, output: number }} Usage */
/** @typedef {keyof typeof PRICES} Model */

/** In dollars for a million tokens, which is millionths of a dollar for one. */
export const PRICES = { large: { input: 3, output: 15 }, small: { input: 1, output: 4 } }

/** Tokens written that are charged at a time. */
export const PART = 64

/** It blocks only by hand, when the provider says so: nobody asks a million times a second. */
const provider = lockout({
  name: 'provider',
  limit: 1_000_000,
  window: '1s',
  block: ['1s'],
  forget: '1d',
})

/**
 * The policies of a run, such as `acme/ann/chat-7/run-1`: one decision, all or nothing.
 * @param {Limits} limits
 * @param {import('@weir/core').Duration} holdTimeout after which what a process that died had
 * estimated is back
 */
export function policiesOf(limits, holdTimeout) {
  /** @param {keyof Limits} name @param {number[]} [notifyAt] */
  const of = (name, notifyAt) => budget({ name, limit: limits[name], holdTimeout, notifyAt })
  const turns = of('turns')
  const tools = of('tools')
  const tokens = of('tokens')
  const user = of('user', [0.8, 1])
  const company = of('company', [0.8, 1])
  return (/** @type {string} */ run) => {
    const [inCompany, inUser, inSession] = run.split('/')
    return [
      { policy: turns, key: run },
      { policy: tools, key: run },
      { policy: tokens, key: `${inCompany}/${inUser}/${inSession}` },
      { policy: user, key: `${inCompany}/${inUser}` },
      { policy: company, key: `${inCompany}` },
      { policy: provider, key: 'provider' },
    ]
  }
}

/**
 * @param {import('@weir/core').Store} store
 * @param {Limits} limits
 * @param {import('@weir/core').RateLimiterOptions['onCrossing']} [onCrossing]
 */
export function limiterOn(store, limits, onCrossing) {
  const policy = policiesOf(limits, '1m')
  return new RateLimiter({ name: 'llm-gateway', store, policy, onCrossing })
}

/** @param {import('@weir/core').Decision} decision */
export function budgetsOf({ policies }) {
  return policies.filter(({ policy }) => policy.algorithm === 'budget')
}

/**
 * The cost of a usage, by the names of the policies. The provider is asked once a turn.
 * @param {Model} model
 * @param {Usage} usage
 */
export function costOf(model, { turns, tools, input, output }) {
  const price = PRICES[model]
  const dollars = price.input * input + price.output * output
  const tokens = input + output
  return { turns, tools, tokens, user: dollars, company: dollars, provider: turns }
}

/**
 * What a turn may use before more is charged: a guess at the prompt, all its tool calls, and the
 * first part of the tokens that it may write.
 * @param {Completion} completion
 * @returns {Usage}
 */
export function estimateOf({ prompt, maxTokens, maxTools }) {
  const input = Math.ceil(prompt.length / 4)
  return { turns: 1, tools: maxTools, input, output: Math.min(PART, maxTokens) }
}
