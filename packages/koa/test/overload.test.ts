import { responses } from '@weir/core/adaptive'
import Koa from 'koa'
import { expect, test, vi } from 'vitest'
import { overload, rateLimit, recordResponses } from '../src/index.js'
import { serve } from './server.js'

/** For a busy machine. */
const PATIENT = { timeout: 20_000, interval: 20 }

vi.setConfig({ testTimeout: 60_000 })

test('requests beyond what may be in flight are refused at once, and the others are served', async () => {
  const guard = overload()
  const signal = responses({ errors: 0.5 })
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const back = rateLimit({ limit: 1_000, window: '1h', refundWhenRefused: true })
  const app = new Koa()
  app.use(back).use(guard).use(recordResponses(signal))
  app.use(async (ctx) => {
    await answered
    ctx.status = 500
  })
  const url = await serve(app)
  const others = Array.from({ length: guard.limit }, () => fetch(url))
  await vi.waitFor(() => expect(guard.inFlight).toBe(guard.limit), PATIENT)
  const refused = await fetch(url)
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toMatch(/^[123]$/)
  expect(refused.headers.get('content-type')).toBe('application/problem+json')
  expect(refused.headers.get('cache-control')).toBe('no-store')
  expect(await refused.json()).toMatchObject({
    status: 503,
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
  })
  expect(guard.refused).toBe(1)
  const { remaining } = await back.limiter.peek('127.0.0.1')
  expect(1_000 - remaining).toBe(guard.limit)
  answer()
  const statuses = await Promise.all(others.map(async (other) => (await other).status))
  expect(statuses).toEqual(Array(guard.limit).fill(500))
  await vi.waitFor(() => expect(guard.inFlight).toBe(0), PATIENT)
  expect(signal()).toBe(2)
})
