// Lock-outs over HTTP: a block ends the guesses, and a correct one among them ends the block.

import { fakeClock } from '@weir/core/testing'
import express from 'express'
import { expect, test } from 'vitest'
import { lockout, memoryStore, rateLimit } from '../src/index.js'
import { serve } from './serve.js'

async function site() {
  const clock = fakeClock()
  const limit = rateLimit({
    store: memoryStore({ clock }),
    shared: true,
    policy: lockout({ name: 'guesses', limit: 3, window: '10m', block: ['1m'], forget: '1d' }),
    key: () => 'account',
    refundWhen: (_, { status }) => status === 200,
  })
  const app = express().use(limit, (req, res) => {
    res.sendStatus(req.path === '/right' ? 200 : 401)
  })
  return { clock, limiter: limit.limiter, ...(await serve(app)) }
}

test('the attempt that reaches the limit is answered, and the next response says when the block ends', async () => {
  const { clock, get } = await site()
  const fields = []
  for (let i = 0; i < 3; i += 1) fields.push((await get()).headers.ratelimit)
  expect(fields).toEqual(['"guesses";r=2;t=600', '"guesses";r=1;t=600', '"guesses";r=0;t=60'])
  clock.advance(10_000)
  const { status, headers, body } = await get('/right')
  expect([status, headers['retry-after'], headers.ratelimit]).toEqual([
    429,
    '50',
    '"guesses";r=0;t=50',
  ])
  expect(JSON.parse(body)).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
    'violated-policies': ['guesses'],
  })
  clock.advance(50_000)
  expect((await get('/right')).status).toBe(200)
})

test('a correct guess that was in progress when the block began lifts it', async () => {
  const { get } = await site()
  const statuses = async (...paths: string[]) =>
    (await Promise.all(paths.map((path) => get(path)))).map(({ status }) => status).sort()
  expect(await statuses('/', '/', '/right')).toEqual([200, 401, 401])
  expect(await statuses('/')).toEqual([401])
  expect(await statuses('/')).toEqual([429])
})
