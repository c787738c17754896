// Every algorithm with the same limit, for rows that judge all of them at once.

import type { Duration } from '@weir/core'
import { algorithms } from '@weir/core/testing'
import type { PolicySettings } from './client/protocol.js'

/** Policies of all algorithms that let `limit` pass at once, and as many again in a window. */
export function everyAlgorithm(name: string, limit: number, window: Duration): PolicySettings[] {
  return Object.values(algorithms)
    .filter(({ api }) => api.consume === 'takes 3')
    .flatMap(({ policies }) => Object.entries(policies))
    .map(([make, { of }]) => ({ make, options: { ...of(limit, window, name).options } }))
}
