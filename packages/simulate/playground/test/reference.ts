// The kernels' decisions on traffic, without the limiter and the page's code: the sources of
// packages/core, called as golden traces call them, and windows counted one by one.

import { policyFrom } from '../../../core/src/algorithms/policy-from.js'
import { memoryStore } from '../../../core/src/memory/store.js'
import { makePolicySet } from '../../../core/src/request.js'
import type { StoreRequest } from '../../../core/src/store.js'
import type { Algorithm } from '../src/algorithms.js'
import { type Settings, WINDOWS } from '../src/settings.js'
import { type Arrival, trafficOf } from '../src/traffic.js'

export interface Reference {
  readonly decisions: readonly { readonly allowed: boolean; readonly remaining: number }[]
  readonly passed: number
  readonly refused: number
  readonly most: number
}

export function referenceOf(algorithm: Algorithm, settings: Settings): Reference {
  const made = algorithm.policy(settings)
  const policy = policyFrom({ algorithm: made.algorithm, ...made.options })
  const { arrivals, keys, startMs } = trafficOf(settings)
  let nowUs = startMs * 1_000
  const store = memoryStore({ clock: { nowUs: () => nowUs } })
  const policySet = makePolicySet('reference', [policy])
  const decisions = arrivals.map(({ atMs, key }) => {
    nowUs = (startMs + atMs) * 1_000
    const target = { policySet, key: keys[key] as string }
    const { granted, policies } = store.decide({
      mode: 'consume',
      target,
      costs: [1],
      count: 1,
    } as StoreRequest)
    return { allowed: granted === 1, remaining: policies[0]?.remaining as number }
  })
  store.close()
  const passing = arrivals.filter((_, i) => decisions[i]?.allowed)
  return {
    decisions,
    passed: passing.length,
    refused: arrivals.length - passing.length,
    most: Math.max(
      0,
      ...passing.map((last) => windowUpTo(last, passing, WINDOWS[settings.window])),
    ),
  }
}

/** How many requests of a key passed in the window that ends with `last`. */
function windowUpTo(last: Arrival, passing: readonly Arrival[], windowMs: number): number {
  return passing.filter(
    ({ atMs, key }) => key === last.key && atMs <= last.atMs && atMs > last.atMs - windowMs,
  ).length
}
