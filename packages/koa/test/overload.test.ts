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

test('a class leaves its part of the limit to those above it, by the context', async () => {
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const guard = overload({
    reserve: { free: 0.5 },
    priority: (ctx) => (ctx.get('x-plan') === 'paying' ? 'critical' : 'free'),
  })
  const app = new Koa()
  app.use(guard).use(async (ctx) => {
    await answered
    ctx.body = 'done'
  })
  const url = await serve(app)
  const get = (plan: string) => fetch(url, { headers: { 'x-plan': plan } })
  const others = Array.from({ length: 10 }, () => get('free'))
  await vi.waitFor(() => expect(guard.inFlight).toBe(10), PATIENT)
  expect((await get('free')).status).toBe(503)
  others.push(...Array.from({ length: 10 }, () => get('paying')))
  await vi.waitFor(() => expect(guard.inFlight).toBe(20), PATIENT)
  expect((await get('paying')).status).toBe(503)
  expect(guard.priorities).toEqual([
    { priority: 'critical', admitted: 10, refused: 1 },
    { priority: 'free', admitted: 10, refused: 1 },
  ])
  answer()
  for (const other of others) expect((await other).status).toBe(200)
})

test('an error that priority throws is an error of the request', async () => {
  const app = new Koa()
  app.silent = true
  app.use(
    overload({
      reserve: { free: 0.5 },
      priority: () => {
        throw new Error('no plan')
      },
    }),
  )
  expect((await fetch(await serve(app))).status).toBe(500)
})
