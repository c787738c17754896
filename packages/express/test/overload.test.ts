// Overload protection over real sockets: the limit is in flight, and no request is answered until
// the test says so.

import { request } from 'node:http'
import { responses } from '@weir/core/adaptive'
import express, { type Response } from 'express'
import { expect, test, vi } from 'vitest'
import { overload, rateLimit, recordResponses } from '../src/index.js'
import { serve } from './serve.js'

/** For a busy machine. */
const PATIENT = { timeout: 20_000, interval: 20 }

async function stage() {
  const guard = overload()
  const signal = responses({ latency: 1_000, errors: 0.5 })
  const held: Response[] = []
  const app = express()
  app.use(guard, recordResponses(signal))
  app.get('/held', (_req, res) => void held.push(res))
  app.get('/fails', (_req, res) => void res.sendStatus(500))
  const site = await serve(app)
  return { guard, signal, held, ...site }
}

vi.setConfig({ testTimeout: 60_000 })

test('requests beyond what may be in flight are refused at once, and the others are served', async () => {
  const { guard, held, get } = await stage()
  const most = guard.limit
  expect([most, guard.inFlight, guard.refused]).toEqual([20, 0, 0])
  const others = Array.from({ length: most }, () => get('/held'))
  await vi.waitFor(() => expect(held.length).toBe(most), PATIENT)
  const { status, headers, body } = await get('/held')
  expect(status).toBe(503)
  expect(headers).toMatchObject({
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'retry-after': expect.stringMatching(/^[123]$/),
  })
  expect(JSON.parse(body)).toEqual({
    type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    title: 'Request cannot be satisfied due to temporary server capacity constraints',
    status: 503,
    detail: 'The server is working to capacity. Try again later.',
  })
  expect([guard.inFlight, guard.refused]).toEqual([most, 1])
  for (const res of held) res.send('done')
  expect((await Promise.all(others)).map((reply) => reply.status)).toEqual(Array(most).fill(200))
  await vi.waitFor(() => expect(guard.inFlight).toBe(0), PATIENT)
})

test('what earlier limiters charged a refused request is refunded, if their options say so', async () => {
  const guard = overload()
  const held: Response[] = []
  const common = { limit: 1_000, window: '1h' } as const
  const back = rateLimit({ name: 'back', ...common, refundWhenRefused: true })
  const stays = rateLimit({ name: 'stays', ...common, requestProperty: 'other' })
  const app = express()
  app.use(back, stays, guard)
  app.get('/held', (_req, res) => void held.push(res))
  const { get } = await serve(app)
  const others = Array.from({ length: guard.limit }, () => get('/held'))
  await vi.waitFor(() => expect(held.length).toBe(guard.limit), PATIENT)
  for (let i = 0; i < 3; i += 1) expect((await get('/held')).status).toBe(503)
  const used = async ({ limiter }: typeof back) =>
    1_000 - (await limiter.peek('127.0.0.1')).remaining
  expect(await used(back)).toBe(guard.limit)
  expect(await used(stays)).toBe(guard.limit + 3)
  for (const res of held) res.send('done')
  await Promise.all(others)
})

test('a class leaves its part of the limit to those above it, by the request', async () => {
  const held: Response[] = []
  const guard = overload({
    reserve: { free: 0.5 },
    priority: (req) => (req.get('x-plan') === 'paying' ? 'critical' : 'free'),
  })
  const app = express()
  app.use(guard)
  app.get('/held', (_req, res) => void held.push(res))
  const { url } = await serve(app)
  const get = (plan: string) => fetch(`${url}/held`, { headers: { 'x-plan': plan } })
  const others = Array.from({ length: 10 }, () => get('free'))
  await vi.waitFor(() => expect(held.length).toBe(10), PATIENT)
  expect((await get('free')).status).toBe(503)
  others.push(...Array.from({ length: 10 }, () => get('paying')))
  await vi.waitFor(() => expect(held.length).toBe(20), PATIENT)
  expect((await get('paying')).status).toBe(503)
  expect(guard.priorities).toEqual([
    { priority: 'critical', admitted: 10, refused: 1 },
    { priority: 'free', admitted: 10, refused: 1 },
  ])
  for (const res of held) res.send('done')
  for (const other of others) expect((await other).status).toBe(200)
})

test('a client that leaves frees its place, and the signal gets the time that it waited', async () => {
  const { guard, signal, held, url } = await stage()
  const left = vi.spyOn(signal, 'left')
  const client = request(`${url}/held`).on('error', () => {})
  client.end()
  await vi.waitFor(() => expect(held.length).toBe(1), PATIENT)
  expect(guard.inFlight).toBe(1)
  client.destroy()
  await vi.waitFor(() => expect(guard.inFlight).toBe(0), PATIENT)
  await vi.waitFor(() => expect(left).toHaveBeenCalledExactlyOnceWith(expect.any(Number)), PATIENT)
})

test('a signal gets the times of served responses', async () => {
  const { signal, get } = await stage()
  await get('/fails')
  // Recorded when the response has ended, which its client may see earlier.
  await vi.waitFor(() => expect(signal()).toBe(2), PATIENT)
})
