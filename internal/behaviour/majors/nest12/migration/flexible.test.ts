// Options that block, and those that decide while Redis is away.

import type { RequestListener } from 'node:http'
import {
  fixedWindow,
  lockout,
  RateLimiter,
  type RateLimiterOptions,
  redisStore,
} from '@weir/express'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterStoreAbstract,
} from 'rate-limiter-flexible'
import { type Ask, compare, listen, type Rows, type Start } from './compare.js'

type There = RateLimiterMemory | RateLimiterStoreAbstract
type Here = RateLimiterOptions

/** What both do with a key. Undefined if it passes, else how many ms it has to wait. */
interface Limiter {
  consume(cost: number): Promise<number | undefined>
  block(seconds: number): Promise<unknown>
  end(): Promise<unknown>
}

const KEY = 'u42'

function startThere(limiter: There): Start {
  return serve({
    consume: (cost) =>
      limiter.consume(KEY, cost).then(
        () => undefined,
        (refusal) => {
          if (refusal instanceof RateLimiterRes) return refusal.msBeforeNext
          throw refusal
        },
      ),
    block: (seconds) => limiter.block(KEY, seconds),
    end: () => limiter.delete(KEY),
  })
}

function startHere(options: Here): Start {
  const limiter = new RateLimiter(options)
  return serve({
    async consume(cost) {
      const decision = await limiter.consume(KEY, { cost })
      return decision.allowed ? undefined : decision.retryAfterMs
    },
    block: (seconds) => limiter.block(KEY, seconds * 1_000),
    end: () => limiter.unblock(KEY),
  })
}

function serve(limiter: Limiter): Start {
  const answer: RequestListener = async ({ url = '' }, res) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost')
    const number = Number(searchParams.get('n') ?? 1)
    try {
      if (pathname === '/block') await limiter.block(number)
      else if (pathname === '/end') await limiter.end()
      else {
        const waitMs = await limiter.consume(number)
        res.statusCode = waitMs === undefined ? 200 : 429
        // In whole seconds, since Redis's clock moves.
        if (waitMs !== undefined) res.setHeader('wait', `${Math.ceil(waitMs / 1_000)} s`)
      }
    } catch {
      res.statusCode = 500
    }
    res.end()
  }
  return listen((req, res) => void answer(req, res))
}

const ask: Ask = {}
const after = (seconds: number): Ask => ({ after: seconds * 1_000 })
const block = (seconds: number): Ask => ({ path: `/block?n=${seconds}` })
const end: Ask = { path: '/end' }
const costing = (cost: number): Ask => ({ path: `/?n=${cost}` })
const look = ['wait']
const passes = '200 | none'
const waits = (seconds: number) => `429 | ${seconds} s`

/** For the limiters that decide while Redis is away. */
const clock = { nowUs: () => Date.now() * 1_000 }
/** One request a minute. */
const ONE = { points: 1, duration: 60 }
/** The equivalent of one a minute with a `blockDuration` in seconds. */
const blocking = (seconds: number, limit = 1) =>
  lockout({
    ...{ limit, window: '1m', starts: 'excess' },
    ...{ block: [seconds * 1_000], forget: seconds * 1_000 },
  })

const rows: Record<string, Rows<There, Here>> = {
  blockDuration: [
    {
      there: () => new RateLimiterMemory({ ...ONE, blockDuration: 300 }),
      here: { policy: blocking(300) },
      asks: [ask, after(30), after(60), after(239), after(1), ask],
      look,
      seen: [passes, waits(300), waits(240), waits(1), passes, waits(300)],
    },
    {
      title: 'costs',
      there: () => new RateLimiterMemory({ points: 5, duration: 60, blockDuration: 300 }),
      here: { policy: blocking(300, 5) },
      asks: [costing(3), costing(3)],
      seen: ['200', '429'],
      differs: 'each request is one attempt',
      seenHere: ['200', '200'],
    },
  ],
  block: [
    {
      there: () => new RateLimiterMemory(ONE),
      here: { policy: blocking(300) },
      asks: [block(100), ask, after(99), after(1), ask],
      look,
      seen: [passes, waits(100), waits(1), passes, waits(60)],
      differs: 'a lock-out answers what is above its limit by a block',
      seenHere: [passes, waits(100), waits(1), passes, waits(300)],
    },
    {
      title: 'ended by hand',
      there: () => new RateLimiterMemory({ ...ONE, blockDuration: 300 }),
      here: { policy: blocking(300) },
      asks: [block(100), ask, end, ask, ask],
      look,
      seen: [passes, waits(100), passes, passes, waits(300)],
    },
    {
      title: 'for ever',
      there: () => new RateLimiterMemory(ONE),
      here: { policy: blocking(300) },
      asks: [block(0), after(10_000)],
      seen: ['200', '429'],
      differs: 'each block has an end',
      seenHere: ['500', '200'],
    },
    {
      title: 'beside one that is longer',
      there: () => new RateLimiterMemory({ ...ONE, blockDuration: 300 }),
      here: { policy: blocking(300) },
      asks: [ask, ask, block(100), ask],
      look,
      seen: [passes, waits(300), passes, waits(100)],
      differs: 'a longer block stays',
      seenHere: [passes, waits(300), passes, waits(300)],
    },
  ],
  blockOnConsumed: {
    there: ({ redis }) =>
      new RateLimiterRedis({ storeClient: redis, ...ONE, blockDuration: 300, blockOnConsumed: 3 }),
    here: { policy: blocking(300) },
    asks: [ask, ask, ask],
    look,
    seen: [passes, waits(60), waits(300)],
    differs: 'what is refused does not count, so the first refusal starts the block',
    seenHere: [passes, waits(300), waits(300)],
  },
  inMemoryBlockDuration: {
    there: ({ redis }) =>
      new RateLimiterRedis({
        ...{ storeClient: redis, ...ONE },
        ...{ inMemoryBlockOnConsumed: 2, inMemoryBlockDuration: 300 },
      }),
    here: { policy: blocking(300) },
    asks: [ask, ask, after(60), after(240)],
    look,
    seen: [passes, waits(300), waits(240), passes],
  },
  insuranceLimiter: [
    {
      there: ({ lost }) =>
        new RateLimiterRedis({
          ...{ storeClient: lost, points: 5, duration: 60 },
          insuranceLimiter: new RateLimiterMemory(ONE),
        }),
      here: ({ lost }) => ({
        name: 'insured',
        store: redisStore(lost, { clock }),
        policy: fixedWindow({ limit: 5, window: '1m' }),
        whenUnavailable: fixedWindow({ limit: 1, window: '1m' }),
      }),
      asks: [ask, ask, after(60)],
      look,
      seen: [passes, waits(60), passes],
    },
    {
      title: 'with a blockDuration',
      there: ({ lost }) =>
        new RateLimiterRedis({
          ...{ storeClient: lost, points: 5, duration: 60, blockDuration: 300 },
          insuranceLimiter: new RateLimiterMemory(ONE),
        }),
      here: ({ lost }) => ({
        name: 'insured',
        store: redisStore(lost, { clock }),
        policy: blocking(300, 5),
        whenUnavailable: blocking(300),
      }),
      asks: [ask, ask, after(60), after(240)],
      look,
      seen: [passes, waits(300), waits(240), passes],
    },
  ],
}

const uses = ({ policy, whenUnavailable }: Here) =>
  [policy, whenUnavailable].some(
    (given) => (given as { algorithm?: string })?.algorithm === 'lockout',
  )
    ? ['lockout']
    : []

compare<There, Here>({ from: 'rate-limiter-flexible', rows, startThere, startHere, uses })
