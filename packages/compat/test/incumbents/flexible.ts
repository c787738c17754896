// rate-limiter-flexible in front of a server, with its own classes and with Weir's.

import type { RequestListener } from 'node:http'
import { Redis } from 'ioredis'
import * as there from 'rate-limiter-flexible'
import * as here from '../../src/rate-limiter-flexible.js'
import { listening, wanted } from './http.js'
import { type Behaviour, type Counting, type Incumbent, times, type Version } from './incumbent.js'

const newest: Version = {
  version: '11',
  serve(counting, options) {
    const limiter = limiterOn(counting, { points: 3, duration: 60, ...options })
    const listener: RequestListener = async ({ headers }, response) => {
      response.statusCode = await limiter.consume(String(headers['x-user'])).then(
        () => wanted(headers),
        (refused) => (refused instanceof Error ? 500 : 429),
      )
      response.end()
    }
    return listening(listener)
  },
}

type Options = { readonly points: number; readonly duration: number }

function limiterOn(counting: Counting, options: Options): here.RateLimiterRedis {
  if (counting.kind === 'weir') {
    const { store: storeClient, name: keyPrefix } = counting
    return new here.RateLimiterRedis({ storeClient, keyPrefix, ...options })
  }
  const { redis: storeClient, prefix: keyPrefix } = counting
  const own = new there.RateLimiterRedis({ storeClient, keyPrefix, ...options })
  return own as never as here.RateLimiterRedis
}

const behaviours: readonly Behaviour[] = [
  {
    promise: '`blockDuration`: refuses for so long from the first refusal',
    options: { points: 1, duration: 1, blockDuration: 3 },
    asks: [...times(2), { afterMs: 1_200 }, { afterMs: 2_200 }],
    seen: '200, 429 x2, 200',
  },
]

export const rateLimiterFlexible: Incumbent = {
  name: 'rate-limiter-flexible',
  own: 'its RateLimiterRedis',
  client: (port) => new Redis(port, { enableOfflineQueue: false }),
  versions: [newest],
  behaviours,
  limitedTo: (points, windowMs) => ({ points, duration: windowMs / 1_000 }),
  passed: 200,
}
