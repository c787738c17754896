// Limits of tools, by the servers and clients of both majors of the SDK, over HTTP.

import { getRequestListener } from '@hono/node-server'
import * as client2 from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { createMcpHandler, McpServer as McpServer2 } from '@modelcontextprotocol/server'
import { budget, concurrency, memoryStore, RateLimiter, slidingLog } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { limitTools, type ToolLimit, type ToolServer } from '@weir/fetch'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { listen } from '../../../internal/behaviour/test/servers/kind.js'

type Register = (
  name: string,
  about: object | string,
  handler: (...args: never[]) => unknown,
) => unknown

interface Result {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
  readonly _meta?: Readonly<Record<string, unknown>>
}

/** Calls a tool as one of the clients of a server. */
type Call = (tool: string, args?: object) => Promise<Result>

interface Sdk {
  readonly name: string
  /** Starts a server, and returns how to connect; `token` authenticates. */
  start(addTools: (server: ToolServer) => void): Promise<(token?: string) => Promise<Call>>
}

const info = { name: 'weir', version: '1.0.0' }

function authOf(request: Request) {
  const token = request.headers.get('authorization')?.slice('Bearer '.length)
  if (token === undefined) return undefined
  const [user, clientId = token] = token.split('@')
  return { token, clientId, scopes: [], extra: user === clientId ? {} : { sub: user } }
}

async function listening(fetch: (request: Request) => Promise<Response>): Promise<URL> {
  const listener = getRequestListener(fetch)
  const { url, close } = await listen((req, res) => void listener(req, res))
  onTestFinished(close)
  return new URL(url)
}

const headersOf = (token?: string): RequestInit =>
  token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }

const sdk1: Sdk = {
  name: 'SDK 1',
  async start(addTools) {
    const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
    const url = await listening(async (request) => {
      let transport = sessions.get(request.headers.get('mcp-session-id') ?? '')
      if (transport === undefined) {
        const opened = new WebStandardStreamableHTTPServerTransport({
          sessionIdGenerator: () => crypto.randomUUID(),
          onsessioninitialized: (id) => void sessions.set(id, opened),
        })
        const server = new McpServer1(info)
        addTools(server)
        await server.connect(opened as never)
        transport = opened
      }
      const authInfo = authOf(request)
      return transport.handleRequest(request, authInfo && { authInfo })
    })
    return async (token) => {
      const client = new Client1(info)
      const requestInit = headersOf(token)
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as never)
      onTestFinished(() => client.close())
      return async (name, args = {}) =>
        (await client.callTool({ name, arguments: args as Record<string, unknown> })) as never
    }
  },
}

const sdk2: Sdk = {
  name: 'SDK 2',
  async start(addTools) {
    const handler = createMcpHandler(() => {
      const server = new McpServer2(info)
      addTools(server)
      return server
    })
    onTestFinished(() => handler.close())
    const url = await listening((request) => {
      const authInfo = authOf(request)
      return handler.fetch(request, authInfo && { authInfo })
    })
    return async (token) => {
      const client = new client2.Client(info)
      const requestInit = headersOf(token)
      await client.connect(new client2.StreamableHTTPClientTransport(url, { requestInit }))
      onTestFinished(() => client.close())
      return async (name, args = {}) =>
        (await client.callTool({ name, arguments: args as Record<string, unknown> })) as never
    }
  },
}

let made = 0

/** Adds the tools `search`, with an argument and a structured result, and `ping`, without. */
function withTools(options: Omit<ToolLimit, 'limiter'> = {}, limit = 10) {
  const policy = slidingLog({ limit, window: '1m' })
  // A warning is given once for each limiter.
  made += 1
  const limiter = new RateLimiter({
    name: `tools-${made}`,
    policy,
    store: memoryStore({ clock: fakeClock() }),
  })
  const calls = vi.fn()
  function addTools(server: ToolServer): void {
    limitTools(server, { limiter, ...options })
    const register = server.registerTool as Register
    register(
      'search',
      {
        inputSchema: z.object({ pages: z.number() }),
        outputSchema: z.object({ found: z.number() }),
      },
      ({ pages }: { pages: number }) => {
        calls('search')
        return { content: [{ type: 'text', text: 'found' }], structuredContent: { found: pages } }
      },
    )
    register('ping', {}, () => {
      calls('ping')
      return { content: [{ type: 'text', text: 'pong' }] }
    })
  }
  return { addTools, limiter, calls }
}

const cost = (tool: string, args: unknown) =>
  tool === 'search' ? (args as { pages: number }).pages : 1

test.each([sdk1, sdk2])(
  '$name: a refused call has a result that a model and a program can read, and reaches no tool',
  async ({ start }) => {
    const { addTools, calls } = withTools({ cost })
    const call = await (await start(addTools))('ann')
    expect((await call('search', { pages: 9 })).isError).toBeFalsy()
    expect((await call('ping')).content[0]?.text).toBe('pong')
    const refused = await call('search', { pages: 1 })
    expect(refused.isError).toBe(true)
    expect(refused.content[0]?.text).toBe(
      'The rate limit of tool calls is used up. Wait 60 seconds before you call "search" again.',
    )
    expect(refused._meta?.['weir/retryAfterMs']).toBe(60_000)
    const never = await call('search', { pages: 11 })
    expect(never.content[0]?.text).toContain('more than the limit ever allows')
    expect(never._meta?.['weir/retryAfterMs']).toBeUndefined()
    expect(calls.mock.calls.flat()).toEqual(['search', 'ping'])
  },
)

test('a model learns that no waiting helps once a budget is used up', async () => {
  const limiter = new RateLimiter({ name: 'run', policy: budget({ limit: 1 }) })
  onTestFinished(() => limiter.close())
  const call = await (
    await sdk2.start((server) => {
      limitTools(server, { limiter })
      const register = server.registerTool as Register
      register('ping', {}, () => ({ content: [{ type: 'text', text: 'pong' }] }))
    })
  )('ann')
  expect((await call('ping')).isError).toBeFalsy()
  const refused = await call('ping')
  expect(refused.content[0]?.text).toMatch(/No waiting helps/)
  expect(refused._meta?.['weir/retryAfterMs']).toBeUndefined()
})

test.each([sdk1, sdk2])('$name: clients are told apart by who they are', async ({ start }) => {
  const { addTools, limiter } = withTools({}, 1)
  const connect = await start(addTools)
  for (const token of ['ann', 'bob']) {
    expect((await (await connect(token))('ping')).isError).toBeFalsy()
    // A new session is no new client.
    expect((await (await connect(token))('ping')).isError).toBe(true)
  }
  expect((await limiter.peek('client:ann')).remaining).toBe(0)
})

test.each([sdk1, sdk2])(
  '$name: key tells users apart; where it gives no key, their client is limited, with a warning',
  async ({ start }) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const key: ToolLimit['key'] = ({ authInfo }) => authInfo?.extra?.sub
    const { addTools, limiter } = withTools({ key }, 1)
    const connect = await start(addTools)
    for (const user of ['ann', 'bob']) {
      expect((await (await connect(`${user}@app`))('ping')).isError).toBeFalsy()
      expect((await limiter.peek(user)).remaining).toBe(0)
    }
    expect(warn).not.toHaveBeenCalled()
    expect((await (await connect('app'))('ping')).isError).toBeFalsy()
    expect((await limiter.peek('client:app')).remaining).toBe(0)
    expect(warn.mock.calls.map(([, options]) => options)).toMatchObject([{ code: 'WEIR_NO_KEY' }])
  },
)

test('clients that nobody has authenticated are told apart by their sessions', async () => {
  const connect = await sdk1.start(withTools({}, 1).addTools)
  const [first, second] = [await connect(), await connect()]
  expect((await first('ping')).isError).toBeFalsy()
  expect((await first('ping')).isError).toBe(true)
  expect((await second('ping')).isError).toBeFalsy()
})

test('without a session either, they share one bucket, with a warning, unless key tells them apart', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const shared = await sdk2.start(withTools({}, 1).addTools)
  expect((await (await shared())('ping')).isError).toBeFalsy()
  expect((await (await shared())('ping')).isError).toBe(true)
  expect(warn.mock.calls.map(([, options]) => options)).toMatchObject([{ code: 'WEIR_NO_KEY' }])
  const key = () => crypto.randomUUID()
  const apart = await sdk2.start(withTools({ key }, 1).addTools)
  for (let i = 0; i < 2; i += 1) expect((await (await apart())('ping')).isError).toBeFalsy()
})

test('tools of the older method `tool` are limited as well', async () => {
  const { addTools } = withTools({}, 1)
  const pong = () => ({ content: [{ type: 'text', text: 'pong' }] })
  const start = sdk1.start((server) => {
    addTools(server)
    ;(server.tool as Register)('old', 'An old tool', pong)
  })
  const call = await (await start)('ann')
  expect((await call('old')).content[0]?.text).toBe('pong')
  expect((await call('old')).isError).toBe(true)
})

test('only the named tools are limited', async () => {
  const call = await (await sdk1.start(withTools({ tools: ['search'] }, 0).addTools))()
  expect((await call('ping')).isError).toBeFalsy()
  const refused = await call('search', { pages: 1 })
  expect(refused.content[0]?.text).toMatch(/^The rate limit of the tool "search" is used up\./)
})

test.each([sdk1, sdk2])(
  '$name: a call holds a slot until its tool has ended, and costs what settle says of its result',
  async ({ start }) => {
    const store = memoryStore({ clock: fakeClock() })
    const policy = concurrency({ limit: 1, holdTimeout: '1m' })
    const slots = new RateLimiter({ name: 'slots', store, policy })
    const tokens = new RateLimiter({
      name: 'tokens',
      store,
      policy: budget({ limit: 20, holdTimeout: '1m' }),
    })
    const spent: unknown[] = []
    let finish: () => void = () => {}
    const connect = await start((server) => {
      limitTools(server, { limiter: slots })
      const settle: ToolLimit['settle'] = (tool, result, args) => {
        spent.push([tool, args])
        return (result as { structuredContent: { used: number } } | undefined)?.structuredContent
          .used
      }
      limitTools(server, { limiter: tokens, cost: () => 5, settle })
      const [inputSchema, outputSchema] = [
        z.object({ a: z.number() }),
        z.object({ used: z.number() }),
      ]
      const register = server.registerTool as Register
      register('think', { inputSchema, outputSchema }, async () => {
        await new Promise<void>((resolve) => {
          finish = resolve
        })
        return { content: [], structuredContent: { used: 2 } }
      })
      register('fail', {}, () => {
        throw new Error('a test wants it')
      })
    })
    const call = await connect('ann')
    const thinking = call('think', { a: 7 })
    const { remaining } = await vi.waitUntil(async () => {
      const now = await tokens.peek('client:ann')
      return now.remaining < 20 && now
    })
    expect(remaining).toBe(15)
    expect((await call('fail')).content[0]?.text).toContain('is used up')
    finish()
    expect((await thinking).isError).toBeFalsy()
    await expect.poll(async () => (await tokens.peek('client:ann')).remaining).toBe(18)
    expect((await call('fail')).content[0]?.text).toBe('a test wants it')
    // Its estimate is spent.
    expect(spent).toEqual([
      ['think', { a: 7 }],
      ['fail', undefined],
    ])
    await expect.poll(async () => (await tokens.peek('client:ann')).remaining).toBe(13)
    expect((await slots.peek('client:ann')).remaining).toBe(1)
  },
)

test.each([sdk1, sdk2])(
  '$name: a tool whose handler is replaced stays limited',
  async ({ start }) => {
    const { addTools } = withTools({}, 1)
    const pong = () => ({ content: [{ type: 'text', text: 'new' }] })
    const connect = await start((server) => {
      addTools(server)
      const tool = (server.registerTool as Register)('late', {}, pong)
      ;(tool as { update(changes: object): void }).update({ callback: pong, description: 'late' })
    })
    const call = await connect('ann')
    expect((await call('late')).content[0]?.text).toBe('new')
    expect((await call('late')).isError).toBe(true)
  },
)

test.each([
  ['limitTools() was given undefined', undefined],
  ['limiter is undefined; give a RateLimiter', {}],
  ['limiter is a function', { limiter: () => {} }],
  ['cost is 2', { cost: 2 }],
  ['does not know the option "costs"', { costs: () => 1 }],
  ['tools is "search"', { tools: 'search' }],
])('wrong options are refused at once: %s', (message, options) => {
  const { limiter } = withTools()
  const server = new McpServer2(info)
  const given = options && Object.keys(options).length > 0 ? { limiter, ...options } : options
  expect(() => limitTools(server, given as never)).toThrow(message)
  expect(() => limitTools(server.server as never, { limiter })).toThrow('give an McpServer')
})
