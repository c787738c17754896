// @ts-check
import { adaptive, responses } from '@weir/core/adaptive'
import { overload, rateLimit, recordResponses, tokenBucket } from '@weir/express'
import express from 'express'
import { pool } from './pool.js'

/**
 * The protections by name, each in the order in which a request meets them.
 * @type {Readonly<Record<string, readonly ('guard' | 'limit')[]>>}
 */
export const PROTECTIONS = {
  nothing: [],
  overload: ['guard'],
  'overload, limit': ['guard', 'limit'],
  'limit, overload': ['limit', 'guard'],
  'overload with classes': ['guard'],
}

/** The plans by the customers' keys: the server's table, not what the client claims. */
const PLANS = new Map([['key-of-a-customer', 'paying']])

/** Customers who do not pay leave half of each limit to those who do. */
const reserve = { free: 0.5 }

/**
 * @param {import('express').Request} req
 * @returns {'critical' | 'free'}
 */
function priority(req) {
  return PLANS.get(req.get('x-api-key') ?? '') === 'paying' ? 'critical' : 'free'
}

/**
 * @param {object} options
 * @param {number} options.workers in the pool
 * @param {number} options.meanMs how long a worker takes
 * @param {string} options.protection one of PROTECTIONS
 */
export function createApp({ workers, meanMs, protection }) {
  let slower = 1
  const query = pool(workers, () => meanMs * slower)
  const hasClasses = protection === 'overload with classes'
  const guard = hasClasses ? overload({ reserve, priority }) : overload()
  const app = express().disable('x-powered-by')

  // Comes before the protections, since it must always answer.
  app.get('/health', (_req, res) => {
    res.json({ limit: guard.limit, inFlight: guard.inFlight, refused: guard.refused })
  })
  // For the load script: slows the pool down, as a busy database does.
  app.post('/slower/:times', (req, res) => {
    slower = Number(req.params.times)
    res.json({ slower })
  })
  const perSecond = Math.floor((workers * 1_000) / meanMs)
  const policy = tokenBucket({ capacity: workers, refill: perSecond, every: '1s' })
  const limit = rateLimit({ name: 'all', key: () => 'all', policy, reserve, priority })
  // In memory, so that a refusal costs next to nothing.
  for (const name of PROTECTIONS[protection] ?? []) app.use(name === 'limit' ? limit : guard)

  // Reports take long, so their limit shrinks as soon as responses become slow.
  const signal = responses({ latency: 4 * meanMs })
  const most = tokenBucket({ name: 'reports', capacity: 50, refill: 50, every: '1s' })
  const reports = adaptive(most, { signal, min: 0.25, warmUp: '10s' })
  const limited = rateLimit({ name: 'reports', key: () => 'all', policy: reports })
  app.get('/reports', limited, async (_req, res) => {
    await query()
    res.json({ factor: reports.factor })
  })

  app.get('/', recordResponses(signal), async (_req, res) => {
    await query()
    res.json({ hello: 'world' })
  })
  return { app, guard, reports }
}
