// Every algorithm with the same limit, for rows that judge all of them at once.
import type { PolicySettings } from './client/protocol.js'

/** Policies of all algorithms that let `limit` pass at once, and as many again in a window. */
export function everyAlgorithm(name: string, limit: number, window: string): PolicySettings[] {
  const windows = ['fixedWindow', 'slidingWindow', 'slidingLog', 'slidingCounter'].map((make) => ({
    make,
    options: { name, limit, window },
  }))
  return [
    ...windows,
    { make: 'tokenBucket', options: { name, capacity: limit, refill: limit, every: window } },
    { make: 'leakyBucket', options: { name, capacity: limit, leak: limit, every: window } },
    { make: 'gcra', options: { name, limit, period: window, burst: limit } },
  ]
}
