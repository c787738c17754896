// The plugin: which routes it limits, what a route's `config.rateLimit` means, and when it runs.

import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { fixedWindow, memoryStore, rateLimitPlugin } from '../src/index.js'

const ONCE = { limit: 1, window: '1h' } as const
const TWICE = { limit: 2, window: '1h' } as const

function appOf(options: object = {}): FastifyInstance {
  const app = Fastify({ forceCloseConnections: true, ...options })
  onTestFinished(() => app.close())
  return app
}

const ok = async () => 'ok'

/** Statuses of requests, one after another: `GET /` by default. */
async function statuses(app: FastifyInstance, ...asks: string[]): Promise<number[]> {
  const all: number[] = []
  for (const ask of asks) {
    const [url = '', method = 'GET'] = ask.split(' ').reverse()
    const { statusCode } = await app.inject({ method: method as 'GET', url })
    all.push(statusCode)
  }
  return all
}

test('all routes of an app and of its plugins count together, also those declared before it, and what has no route', async () => {
  const app = appOf()
  app.get('/before', ok)
  app.register(rateLimitPlugin, { limit: 4, window: '1h' })
  app.get('/after', ok)
  app.register(async (inner) => void inner.get('/inner', ok))
  expect(await statuses(app, '/before', '/after', '/inner', '/missing', '/before')).toEqual([
    200, 200, 200, 404, 429,
  ])
})

test('is encapsulated: the app around the one that registers it is not limited', async () => {
  const app = appOf()
  app.register(async (inner) => {
    inner.register(rateLimitPlugin, ONCE)
    inner.get('/inner', ok)
  })
  app.get('/outer', ok)
  expect(await statuses(app, '/inner', '/inner', '/outer', '/outer')).toEqual([200, 429, 200, 200])
  expect(app.rateLimit).toBeUndefined()
})

// Fastify loads a plugin that nothing awaits after the routes beside it.
test.each([true, false])(
  'a route has its own limit, or none, and inherits the rest, loaded before it: %s',
  async (isLoaded) => {
    const app = appOf()
    const loading = app.register(rateLimitPlugin, {
      ...TWICE,
      key: ({ headers }) => headers['x-user']?.toString() ?? 'ann',
      headers: 'legacy',
      store: memoryStore(),
    })
    if (isLoaded) await loading
    app.get('/free', { config: { rateLimit: false } }, ok)
    app.get('/own', { config: { rateLimit: { limit: 1 } } }, ok)
    app.post('/own', { config: { rateLimit: { limit: 1 } } }, ok)
    app.get('/all', ok)
    expect(await statuses(app, '/free', '/free', '/free')).toEqual([200, 200, 200])
    // HEAD counts as GET, and POST by itself.
    expect(await statuses(app, '/own', 'HEAD /own', 'POST /own', 'POST /own')).toEqual([
      200, 429, 200, 429,
    ])
    expect(await statuses(app, '/all', '/all', '/all')).toEqual([200, 200, 429])
    const bob = await app.inject({ url: '/own', headers: { 'x-user': 'bob' } })
    expect([bob.statusCode, bob.headers['x-ratelimit-limit']]).toEqual([200, '1'])
  },
)

test('routes whose limits have one name, or one limiter, count together', async () => {
  const app = appOf()
  await app.register(rateLimitPlugin, { global: false })
  const group = { config: { rateLimit: { name: 'otp', ...TWICE } } }
  app.get('/otp/send', group, ok)
  app.get('/otp/resend', { config: { rateLimit: { name: 'otp', ...TWICE } } }, ok)
  const both = { config: { rateLimit: app.rateLimit(ONCE) } }
  app.get('/one', both, ok)
  app.get('/two', both, ok)
  app.get('/free', ok)
  expect(await statuses(app, '/otp/send', '/otp/resend', '/otp/send')).toEqual([200, 200, 429])
  expect(await statuses(app, '/one', '/two', '/free', '/free')).toEqual([200, 429, 200, 200])
  expect(app.rateLimit.limiter).toBeUndefined()
})

test('runs as preHandler by option, where it knows the user and the body; request.rateLimit is the decision', async () => {
  const app = appOf()
  app.register(rateLimitPlugin, {
    ...TWICE,
    hook: 'preHandler',
    key: ({ body }) => (body as { user: string }).user,
  })
  app.post('/', async ({ rateLimit }) => rateLimit?.remaining)
  const post = async (user: string) =>
    (await app.inject({ method: 'POST', url: '/', payload: { user } })).body
  expect([await post('ann'), await post('ann'), await post('bob')]).toEqual(['1', '0', '1'])
  expect(app.hasRequestDecorator('rateLimit')).toBe(true)
  expect((await app.rateLimit.limiter?.peek('ann'))?.remaining).toBe(0)
})

test('as preHandler, it comes after all hooks that authenticate, and counts once', async () => {
  const app = appOf()
  const auth = (request: FastifyRequest, _reply: unknown, done: () => void) => {
    Object.assign(request, { user: request.headers['x-user'] })
    done()
  }
  const seen: unknown[] = []
  const key = (request: FastifyRequest & { user?: string }) => {
    seen.push(request.user)
    return request.user
  }
  await app.register(rateLimitPlugin, { limit: 9, window: '1h', hook: 'preHandler', key })
  app.get('/route', { preHandler: auth }, async ({ rateLimit }) => `${rateLimit?.remaining}`)
  app.register(async (inner) => {
    inner.addHook('preHandler', auth)
    inner.get('/inner', { preHandler: [] }, async ({ rateLimit }) => `${rateLimit?.remaining}`)
  })
  const bodies: string[] = []
  for (const method of ['GET', 'HEAD'] as const) {
    for (const url of ['/route', '/inner'])
      bodies.push((await app.inject({ method, url, headers: { 'x-user': 'ann' } })).body)
  }
  expect(bodies).toEqual(['8', '7', '', ''])
  expect(seen).toEqual(['ann', 'ann', 'ann', 'ann'])
})

test('paths that differ in a dot, a dash or a slash count apart', async () => {
  const app = appOf()
  await app.register(rateLimitPlugin, { limit: 9, window: '1h' })
  for (const url of ['/a/b', '/a.b', '/a_.b', '/a_/b'])
    app.get(url, { config: { rateLimit: { limit: 1 } } }, ok)
  expect(await statuses(app, '/a/b', '/a.b', '/a_.b', '/a_/b', '/a/b')).toEqual([
    200, 200, 200, 200, 429,
  ])
})

test('several plugins each limit; the innermost one has the options of the route', async () => {
  const app = appOf()
  await app.register(rateLimitPlugin, { name: 'outer', limit: 3, window: '1h' })
  await app.register(rateLimitPlugin, { name: 'second', limit: 9, window: '1h' })
  await app.register(async (inner) => {
    await inner.register(rateLimitPlugin, { name: 'inner', limit: 8, window: '1h' })
    inner.get('/own', { config: { rateLimit: TWICE } }, async ({ rateLimit }) =>
      rateLimit?.all.map(({ limiter }) => limiter).join(),
    )
    inner.get('/free', { config: { rateLimit: false } }, ok)
  })
  expect((await app.inject('/own')).body).toBe('outer,second,GET.own')
  expect(await statuses(app, '/own', '/own', '/free', '/own')).toEqual([200, 429, 200, 429])
})

test('a route gives a policy in place of limit and window, and the other way round', async () => {
  const app = appOf()
  await app.register(rateLimitPlugin, { limit: 3, window: '1h' })
  app.get('/policy', { config: { rateLimit: { policy: fixedWindow(ONCE) } } }, ok)
  await app.register(async (inner) => {
    await inner.register(rateLimitPlugin, { name: 'inner', policy: fixedWindow(TWICE) })
    inner.get('/plain', { config: { rateLimit: ONCE } }, ok)
  })
  expect(await statuses(app, '/policy', '/policy', '/plain', '/plain')).toEqual([
    200, 429, 200, 429,
  ])
})

test('wrong options of a route are an error when it is declared, those of the plugin when it is loaded', async () => {
  const wrong = { max: 1 } as object
  const right = /the option "max"; here that is limit: see docs\/migrating.md/
  await expect(appOf().register(rateLimitPlugin, wrong as typeof ONCE)).rejects.toThrow(right)
  const app = appOf()
  await app.register(rateLimitPlugin, ONCE)
  expect(() => app.get('/', { config: { rateLimit: wrong } }, ok)).toThrow(right)
  const route = (rateLimit: unknown) =>
    app.get('/', { config: { rateLimit: rateLimit as false } }, ok)
  expect(() => route(true)).toThrow('config.rateLimit of "/" is true; give options, a limiter or')
  expect(() => route(null)).toThrow('is null')
  const hook = { ...ONCE, hook: 'onSend' } as object as typeof ONCE
  await expect(appOf().register(rateLimitPlugin, hook)).rejects.toThrow(
    'hook is "onSend"; give one',
  )
})

test("refuses an app whose rateLimit is another plugin's, and leaves options of register alone", async () => {
  const app = appOf().decorate('rateLimit', (() => {}) as unknown as FastifyInstance['rateLimit'])
  await expect(app.register(rateLimitPlugin, ONCE)).rejects.toThrow(
    'app.rateLimit is already there',
  )
  const own = { ...ONCE, prefix: '/v1', logLevel: 'warn' } as const
  await expect(appOf().register(rateLimitPlugin, own)).resolves.toBeDefined()
})

test('is the default export, which register takes as a promise', async () => {
  const app = appOf()
  await app.register(import('../src/index.js'), ONCE)
  app.get('/', ok)
  expect(await statuses(app, '/', '/')).toEqual([200, 429])
})

test('a logger writes no line more', async () => {
  const lines: string[] = []
  const app = appOf({ logger: { stream: { write: (line: string) => lines.push(line) } } })
  app.register(rateLimitPlugin, ONCE)
  app.get('/', ok)
  expect(await statuses(app, '/', '/')).toEqual([200, 429])
  const messages = lines.map((line) => JSON.parse(line).msg)
  const each = ['incoming request', 'request completed']
  expect(messages).toEqual([...each, ...each])
})
