// Limiters as middleware of Hono, on @hono/node-server.

import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { memoryStore } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { clientAddress, decisionOf, honoMiddleware, rateLimit } from '@weir/fetch'
import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { HTTPException } from 'hono/http-exception'
import { expect, onTestFinished, test, vi } from 'vitest'
import { listen } from '../../../internal/behaviour/test/servers/kind.js'

type App = Hono<{ Bindings: HttpBindings }>

async function serve(app: App): Promise<string> {
  const listener = getRequestListener(app.fetch)
  const { url, close } = await listen((req, res) => void listener(req, res))
  onTestFinished(close)
  return url
}

function limited(limit: number, settled: number[] = []): App {
  const limiter = rateLimit({
    limit,
    window: '1h',
    store: memoryStore({ clock: fakeClock() }),
    settle: (_, { status }) => void settled.push(status),
  })
  const app: App = new Hono()
  app.use(cors())
  app.use(honoMiddleware(limiter, (c) => clientAddress.node(c.env)))
  return app
}

const routes: Readonly<Record<string, (c: Context) => Response>> = {
  '/text': (c) => c.text(`${decisionOf(c.req.raw)?.remaining} left`),
  '/raw': () => new Response('raw'),
  '/stream': () => new Response(new Blob(['streamed']).stream()),
  '/redirect': () => Response.redirect('http://127.0.0.1/', 302),
  '/error': () => {
    throw new HTTPException(418, { res: new Response('teapot', { status: 418 }) })
  },
}

test.each([
  ['/text', 200, '8 left'],
  ['/raw', 200, 'raw'],
  ['/stream', 200, 'streamed'],
  ['/redirect', 302, ''],
  ['/error', 418, 'teapot'],
  ['/nowhere', 404, '404 Not Found'],
])(
  'the response to %s has the headers of the limiter and of others',
  async (path, status, body) => {
    const settled: number[] = []
    const app = limited(9, settled)
    for (const [route, handler] of Object.entries(routes)) app.get(route, handler)
    const response = await fetch((await serve(app)) + path, { redirect: 'manual' })
    expect(response.status).toBe(status)
    expect(await response.text()).toBe(body)
    expect(response.headers.get('ratelimit')).toContain('r=8')
    await expect.poll(() => settled).toEqual([status])
  },
)

test('a handler that returns no response is the error that it is without a limiter', async () => {
  const app = limited(9).get('/', (() => undefined) as never)
  app.onError((error, c) => c.text(error.message, 500))
  const response = await fetch(await serve(app))
  expect([response.status, await response.text()]).toEqual([
    500,
    expect.stringContaining('Context is not finalized'),
  ])
})

test('an application that is asked without a server has no address, and answers', async () => {
  const app = limited(9).get('/', routes['/raw'] as never)
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => void warned.mockRestore())
  expect(await (await app.request('/')).text()).toBe('raw')
  expect(warned.mock.calls.map(([, options]) => (options as { code: string }).code)).toEqual([
    'WEIR_NO_ADDRESS',
  ])
})

test('a refusal has the headers of earlier middleware, and reaches no handler', async () => {
  const handled = vi.fn((c: Context) => c.text('ok'))
  const url = await serve(limited(1).get('/', handled))
  await fetch(url)
  const response = await fetch(url, { headers: { origin: 'http://weir.test' } })
  expect(handled).toHaveBeenCalledOnce()
  expect(response.status).toBe(429)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(response.headers.get('retry-after')).toBe('3600')
})

test.each(['/redirect', '/stream'])(
  'without Node’s response, %s is a new response',
  async (path) => {
    const settled: number[] = []
    const settle = (_: unknown, { status }: { status: number }) => void settled.push(status)
    const limiter = rateLimit({ name: `as${path.slice(1)}`, limit: 9, window: '1h', settle })
    const app = new Hono().use(honoMiddleware(limiter, () => ({ address: '203.0.113.7' })))
    for (const [route, handler] of Object.entries(routes)) app.get(route, handler)
    const response = await app.request(path)
    expect(response.headers.get('ratelimit')).toContain('r=8')
    await response.text()
    expect(settled).toEqual([response.status])
  },
)
