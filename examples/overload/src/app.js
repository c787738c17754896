// @ts-check
import {
  adaptive,
  overload,
  rateLimit,
  recordResponses,
  responses,
  tokenBucket,
} from '@weir/express'
import express from 'express'
import { pool } from './pool.js'

/**
 * @param {object} options
 * @param {number} options.workers of its pool
 * @param {number} options.meanMs how long a worker takes
 * @param {boolean} options.isProtected
 */
export function createApp({ workers, meanMs, isProtected }) {
  let slower = 1
  const query = pool(workers, () => meanMs * slower)
  const guard = overload()
  const app = express().disable('x-powered-by')

  // What must answer in any case comes before.
  app.get('/health', (_req, res) => {
    res.json({ limit: guard.limit, inFlight: guard.inFlight, refused: guard.refused })
  })
  // For the load: makes the pool slower, as a busy database is.
  app.post('/slower/:times', (req, res) => {
    slower = Number(req.params.times)
    res.json({ slower })
  })
  // In memory, so that what is too much costs next to nothing.
  if (isProtected) app.use(guard)

  // The reports take long, so they get less as soon as responses become slow.
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
