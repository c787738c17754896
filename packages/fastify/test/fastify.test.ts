// What is special to Fastify: which routes a hook limits, how a refusal is written, what `onDenied`
// may do, and requests without a connection.

import { fastifyTrust } from '@weir/core/http'
import { concurrency, memoryStore, RateLimiter } from '@weir/fastify'
import Fastify, { type FastifyInstance } from 'fastify'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { overload, type RateLimitOptions, rateLimit } from '../src/index.js'

const ONCE = { limit: 1, window: '1h' } as const

function appOf(options: object = {}): FastifyInstance {
  const app = Fastify({ forceCloseConnections: true, ...options })
  onTestFinished(() => app.close())
  return app
}

/** Statuses of requests, one after another, without a network. */
async function statuses(app: FastifyInstance, ...urls: string[]): Promise<number[]> {
  const all: number[] = []
  for (const url of urls) all.push((await app.inject({ url })).statusCode)
  return all
}

describe('a limiter limits', () => {
  test('the routes of the app that has the hook, also those before it and those that do not exist', async () => {
    const app = appOf()
    app.get('/before', async () => 'ok')
    app.addHook('onRequest', rateLimit({ name: 'app', limit: 3, window: '1h' }))
    app.get('/after', async () => 'ok')
    expect(await statuses(app, '/before', '/after', '/missing', '/before')).toEqual([
      200, 200, 404, 429,
    ])
  })

  test('the routes of one plugin', async () => {
    const app = appOf()
    app.register(async (inner) => {
      inner.addHook('onRequest', rateLimit({ name: 'plugin', ...ONCE }))
      inner.get('/inner', async () => 'ok')
    })
    app.get('/outer', async () => 'ok')
    expect(await statuses(app, '/inner', '/inner', '/outer', '/outer')).toEqual([
      200, 429, 200, 200,
    ])
  })

  test.each(['onRequest', 'preValidation', 'preHandler'] as const)(
    'one route, as its %s',
    async (hook) => {
      const app = appOf()
      app.get('/one', { [hook]: rateLimit({ name: hook, ...ONCE }) }, async () => 'ok')
      app.get('/two', async () => 'ok')
      expect(await statuses(app, '/one', '/one', '/two', '/two')).toEqual([200, 429, 200, 200])
    },
  )

  test('by the body, as preHandler', async () => {
    const app = appOf()
    const key: RateLimitOptions['key'] = ({ body }) => (body as { user: string }).user
    app.post('/', { preHandler: rateLimit({ name: 'body', ...ONCE, key }) }, async () => 'ok')
    const post = async (user: string) =>
      (await app.inject({ method: 'POST', url: '/', payload: { user } })).statusCode
    expect([await post('ann'), await post('ann'), await post('bob')]).toEqual([200, 429, 200])
  })
})

describe('onDenied', () => {
  const answers: [string, RateLimitOptions['onDenied'], [status: number, body: string]][] = [
    ['replies', (_, __, reply) => reply.code(418).send('tea'), [418, 'tea']],
    ['lets the request go on', (...[, , , done]) => done(), [200, 'ok']],
    [
      'throws to the error handler',
      () => {
        throw new Error('no')
      },
      [503, 'no'],
    ],
    ['returns a body', () => ({ tea: 1 }), [429, '{"tea":1}']],
    [
      'returns a body and has set a status',
      async (_, __, reply) => {
        reply.code(418)
        return 'tea'
      },
      [418, 'tea'],
    ],
    ['throws what is no error', () => Promise.reject('no'), [503, expect.any(String)]],
  ]
  test.each(answers)('%s', async (name, onDenied, [status, body]) => {
    const app = appOf()
    app.setErrorHandler((error: Error, _, reply) => reply.code(503).send(error.message))
    app.addHook('onRequest', rateLimit({ name: name.replaceAll(' ', '-'), ...ONCE, onDenied }))
    app.get('/', async () => 'ok')
    await app.inject('/')
    const second = await app.inject('/')
    expect([second.statusCode, second.body]).toEqual([status, body])
    expect(second.headers.ratelimit).toContain('r=0')
  })
})

describe('mounted as something else than a hook, says what to do', () => {
  const right = expect.stringContaining("use app.addHook('onRequest', limiter)")

  test.each([
    ['a limiter', () => rateLimit(ONCE)],
    ['overload()', () => overload()],
  ])('%s, as a plugin or with a payload', async (_, make) => {
    const plugin = appOf().register(make() as never)
    await expect(plugin.ready()).rejects.toMatchObject({ message: right })

    const app = appOf()
    app.addHook('onSend', make() as never)
    app.get('/', async () => 'ok')
    expect((await app.inject('/')).json()).toMatchObject({ statusCode: 500, message: right })
  })

  test.each([
    ['rateLimit', () => rateLimit(appOf() as never)],
    ['overload', () => overload(appOf() as never)],
  ])('%s itself, as a plugin', (_, make) => {
    expect(make).toThrow(/was given an app; .* call it/)
  })
})

test('an error of an option goes to the error handler, and headers of other limiters stay', async () => {
  const app = appOf()
  app.setErrorHandler((error: Error, _, reply) => reply.code(500).send(error.message))
  app.addHook('onRequest', rateLimit({ name: 'first', limit: 9, window: '1h' }))
  app.addHook(
    'onRequest',
    rateLimit({
      name: 'second',
      ...ONCE,
      key: () => {
        throw new Error('no key')
      },
    }),
  )
  app.get('/', async () => 'ok')
  const { statusCode, body, headers } = await app.inject('/')
  expect([statusCode, body]).toEqual([500, 'no key'])
  expect(headers.ratelimit).toBe('"first";r=8;t=3600')
})

test('a request without a connection holds its slot until its response has ended', async () => {
  const app = appOf()
  const store = memoryStore()
  const policy = concurrency({ name: 'slots', limit: 1, holdTimeout: '1m' })
  app.addHook('onRequest', rateLimit({ name: 'calls', store, policy, key: () => 'all' }))
  app.get('/', async () => 'ok')
  expect(await statuses(app, '/', '/')).toEqual([200, 200])
  const limiter = new RateLimiter({ name: 'calls', store, policy, shared: true })
  expect((await limiter.peek('all')).remaining).toBe(1)
})

test.each([
  [true, 'everybody'],
  [() => true, 'everybody'],
  ['127.0.0.1', 'listed'],
  [(address: string) => address === '127.0.0.1', 'listed'],
  [false, 'nobody'],
  [undefined, 'nobody'],
  // Fastify before 5.12.1 counts hops.
  [1, expect.stringMatching(/^(inert|listed)$/)],
])(
  'of an app with trustProxy: %s, also in its plugins, a limiter knows whom it trusts',
  async (trustProxy, expected) => {
    const app = appOf({ trustProxy })
    const seen: unknown[] = [fastifyTrust(app)]
    app.register(async (inner) => void seen.push(fastifyTrust(inner)))
    await app.ready()
    expect(seen).toEqual([expected, expected])
  },
)

test('overload refuses what is more than may be in flight, and gives back what was charged', async () => {
  const guard = overload()
  const app = appOf()
  const back = rateLimit({ limit: 1_000, window: '1h', refundWhenRefused: true })
  app.addHook('onRequest', back)
  app.addHook('onRequest', guard)
  let answer = () => {}
  const answered = new Promise<string>((resolve) => {
    answer = () => resolve('ok')
  })
  app.get('/', () => answered)
  const others = Array.from({ length: guard.limit }, () => app.inject('/'))
  await vi.waitFor(() => expect(guard.inFlight).toBe(guard.limit))
  const refused = await app.inject('/')
  expect(refused.statusCode).toBe(503)
  expect(refused.headers['content-type']).toBe('application/problem+json')
  expect(refused.headers['retry-after']).toMatch(/^[123]$/)
  expect(1_000 - (await back.limiter.peek('127.0.0.1')).remaining).toBe(guard.limit)
  answer()
  expect((await Promise.all(others)).map(({ statusCode }) => statusCode)).toEqual(
    Array(guard.limit).fill(200),
  )
})
