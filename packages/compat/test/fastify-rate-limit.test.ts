// What is special to Weir's store under the last three majors of @fastify/rate-limit, on Redis.
// behaviours.test.ts has what the plug-in documents.

import * as of11 from '@fastify/rate-limit'
import * as of9 from '@fastify/rate-limit-9'
import * as of10 from '@fastify/rate-limit-10'
import { fastify as fastify5 } from 'fastify'
import { fastify as fastify4 } from 'fastify-4'
import { afterEach, describe, expect, test } from 'vitest'
import { weirStore } from '../src/fastify-rate-limit.js'
import { newName, onRedis } from './on-redis.js'

const redis = onRedis()

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

describe.each([
  ['11', of11, fastify5],
  ['10', of10 as unknown as typeof of11, fastify5],
  ['9', of9 as unknown as typeof of11, fastify4 as unknown as typeof fastify5],
])('@fastify/rate-limit %s', (version, plugin, fastify) => {
  async function served(options: object): Promise<string> {
    const app = fastify()
    open.push(() => app.close())
    const store = weirStore(redis.store, { name: newName() })
    await app.register(plugin.default, { max: 3, timeWindow: 60_000, store, ...options })
    app.get('/', async () => 'ok')
    return app.listen({ port: 0, host: '127.0.0.1' })
  }

  test('a limit of 0 refuses everything, with a wait', async () => {
    const { status, headers } = await fetch(await served({ max: 0 }))
    expect(status).toBe(429)
    expect(headers.get('retry-after')).toBe('60')
  })

  test.each(['continueExceeding', ...(version === '9' ? [] : ['exponentialBackoff'])])(
    '%s, which this store cannot do, is a coded error',
    async (option) => {
      const app = fastify()
      open.push(() => app.close())
      const store = weirStore(redis.store, { name: newName() })
      await expect(app.register(plugin.default, { store, [option]: true })).rejects.toMatchObject({
        code: 'WEIR_INVALID_OPTION',
      })
    },
  )
})

test('with version 11, a request can be looked at without being counted', async () => {
  const app = fastify5()
  open.push(() => app.close())
  const store = weirStore(redis.store, { name: newName() })
  await app.register(of11.default, { global: false, max: 3, timeWindow: 60_000, store })
  const check = app.createRateLimit() as (request: object, options?: object) => Promise<unknown>
  app.get('/look', (request) => check(request, { increment: false }))
  app.get('/count', (request) => check(request))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const remaining = async (path: string): Promise<unknown> =>
    ((await (await fetch(url + path)).json()) as { remaining: number }).remaining
  expect(await remaining('/look')).toBe(3)
  expect(await remaining('/count')).toBe(2)
  expect(await remaining('/look')).toBe(2)
})

test('ban needs fixed windows', () => {
  const Store = weirStore(redis.store, { name: newName(), algorithm: 'sliding-window' })
  expect(() => new Store({ ban: 1 })).toThrow(
    expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
  )
})
