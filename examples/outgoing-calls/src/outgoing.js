// @ts-check
// The line in which all processes wait for their turn to call.

import { leakyBucket, RateLimiter } from '@weir/core'

/**
 * A constant outflow, a fifth below what the third party allows: turns are never early, but calls
 * may arrive a little late, and then they are nearer to those after them.
 * @param {import('@weir/core').Store} store
 */
export function outgoing(store) {
  return new RateLimiter({
    name: 'outgoing',
    store,
    policy: leakyBucket({
      name: 'third-party',
      capacity: 1,
      leak: 40,
      every: '1s',
      maxWait: '30s',
    }),
  })
}
