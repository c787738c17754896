// @ts-check
// The queue in which all processes wait for their turn to call.

import { leakyBucket, RateLimiter } from '@weir/core'

/**
 * Lets calls out at a constant rate, a fifth below the third party's limit. A turn is never early,
 * but a call may arrive a little late, and is then closer to the next one.
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
