// The options that ban clients there; limits and windows are as in express-rate-limit.

import rateLimitThere, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import { type Duration, lockout, type RateLimitOptions, rateLimit } from '@weir/express'
import express from 'express'
import fastify from 'fastify'
import { type Ask, compare, listen, type Rows, type Start } from './compare.js'

type There = RateLimitPluginOptions
type Here = RateLimitOptions

/** Without other options, one request a minute is allowed. */
async function startThere(options: There): Start {
  const app = fastify()
  await app.register(rateLimitThere, { max: 1, timeWindow: 60_000, ...options })
  app.get('/', () => 'ok')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, close: () => app.close() }
}

function startHere(options: Here): Start {
  const app = express()
  app.use(rateLimit(options), (_req, res) => void res.send('ok'))
  return listen(app)
}

const ask: Ask = {}
const after = (seconds: number): Ask => ({ after: seconds * 1_000 })
const look = ['retry-after']
const seen = (status: number, retryAfter: number | 'none' = 'none') =>
  `${status} | retry-after: ${retryAfter}`
/** The equivalent of one a minute with blocks afterwards. */
const blocking = (...block: readonly Duration[]) =>
  lockout({ limit: 1, window: '1m', block, forget: '1h', starts: 'excess' })

const rows: Record<string, Rows<There, Here>> = {
  ban: {
    there: { ban: 1 },
    here: {
      policy: blocking('1m'),
      onDenied: ({ reason }, _req, res) => void res.sendStatus(reason === 'blocked' ? 403 : 429),
    },
    asks: [ask, after(30), ask, after(30), after(30)],
    look,
    seen: [seen(200), seen(429, 30), seen(403, 30), seen(200), seen(429, 30)],
    differs: 'the first refusal starts a block, of a length of its own',
    seenHere: [seen(200), seen(403, 60), seen(403, 60), seen(403, 30), seen(200)],
  },
  continueExceeding: [
    {
      there: { continueExceeding: true },
      here: { policy: blocking('1m') },
      asks: [ask, after(30), after(60), ask],
      look,
      seen: [seen(200), seen(429, 60), seen(200), seen(429, 60)],
    },
    {
      title: 'of a client that asks on',
      there: { continueExceeding: true },
      here: { policy: blocking('1m') },
      asks: [ask, after(30), after(30), after(30), after(30)],
      look,
      seen: [seen(200), seen(429, 60), seen(429, 60), seen(429, 60), seen(429, 60)],
      differs: 'what is refused lengthens no block',
      seenHere: [seen(200), seen(429, 60), seen(429, 30), seen(200), seen(429, 60)],
    },
  ],
  exponentialBackoff: {
    there: { exponentialBackoff: true },
    here: { policy: blocking('1m', '2m', '4m') },
    asks: [ask, ask, ask, after(60), ask, ask],
    look,
    seen: [seen(200), seen(429, 60), seen(429, 120), seen(200), seen(429, 60), seen(429, 120)],
    differs: 'each block is longer than the one before, not each refusal',
    seenHere: [seen(200), seen(429, 60), seen(429, 60), seen(200), seen(429, 120), seen(429, 120)],
  },
}

const uses = (setUp: Here) => Object.keys(setUp).concat('lockout')

compare<There, Here>({ from: '@fastify/rate-limit', rows, startThere, startHere, uses })
