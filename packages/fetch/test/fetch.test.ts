// What only this adapter does: responses that are made after the decision, and clients as platforms
// name them. Everything else: internal/behaviour.

import { concurrency, memoryStore, RateLimiter, slidingLog } from '@weir/core'
import type { ResponseOutcome } from '@weir/core/http'
import { fakeClock } from '@weir/core/testing'
import { clientAddress, decisionOf, type RateLimitOptions, rateLimit, respond } from '@weir/fetch'
import { expect, onTestFinished, test, vi } from 'vitest'

const address = '203.0.113.7'
const get = (init?: RequestInit) => new Request('http://weir.test/', init)
let names = 0

/** A limiter of 10 requests, and the outcomes with which it is settled. */
function settling(options: Partial<RateLimitOptions> = {}) {
  const outcomes: ResponseOutcome[] = []
  names += 1
  const limit = rateLimit({
    name: `settling-${names}`,
    limit: 10,
    window: '1h',
    store: memoryStore({ clock: fakeClock() }),
    settle: (_, outcome) => void outcomes.push(outcome),
    ...options,
  } as RateLimitOptions)
  return { limit, outcomes }
}

/** A body of two parts, and what became of it. */
function parts(end: 'ends' | 'breaks off' = 'ends') {
  const cancelled = vi.fn()
  const left = ['some ', 'more']
  const body = new ReadableStream({
    pull(controller) {
      const part = left.shift()
      if (part !== undefined) controller.enqueue(new TextEncoder().encode(part))
      else if (end === 'ends') controller.close()
      else controller.error(new Error('broken off'))
    },
    cancel: cancelled,
  })
  return { body, cancelled }
}

test('a refusal is a response; without one, the handler’s response gets the headers', async () => {
  const limit = rateLimit({ name: 'once', limit: 1, window: '1h' })
  const first = get()
  expect(limit(first, { address })).toBeUndefined()
  const response = Response.json({ left: decisionOf(first)?.remaining })
  expect(respond(first, response)).toBe(response)
  expect(Object.fromEntries(response.headers)).toEqual({
    'content-type': 'application/json',
    ratelimit: '"once";r=0;t=3600',
    'ratelimit-policy': '"once";q=1;w=3600',
  })
  const refused = await limit(get(), { address })
  expect(refused?.status).toBe(429)
  expect(refused?.headers.get('retry-after')).toBe('3600')
  expect(await refused?.json()).toMatchObject({ status: 429, 'violated-policies': ['once'] })
})

test.each<[string, (response: Response) => unknown, boolean]>([
  ['has been read', (response) => response.text(), true],
  ['is cancelled', (response) => response.body?.cancel(), false],
  ['is cancelled half read', (response) => halfRead(response), false],
])('a stream settles once, when it %s, and not before', async (_, act, finished) => {
  const { limit, outcomes } = settling()
  const { body } = parts()
  const response = await limit.handle(get(), { address }, () => new Response(body, { status: 201 }))
  await Promise.resolve()
  expect(outcomes).toEqual([])
  await act(response)
  await vi.waitFor(() => expect(outcomes).toEqual([{ status: 201, finished }]))
})

async function halfRead({ body }: Response): Promise<void> {
  const reader = (body as ReadableStream).getReader()
  await reader.read()
  await reader.cancel()
}

test('a stream that is cancelled cancels that of the handler', async () => {
  const { limit } = settling()
  const { body, cancelled } = parts()
  const response = await limit.handle(get(), { address }, () => new Response(body))
  await response.body?.cancel('enough')
  expect(cancelled).toHaveBeenCalledExactlyOnceWith('enough')
})

test('a stream that breaks off, and a client that leaves before its response, settle once', async () => {
  const { limit, outcomes } = settling()
  const response = await limit.handle(
    get(),
    { address },
    () => new Response(parts('breaks off').body),
  )
  await expect(response.text()).rejects.toThrow('broken off')
  expect(outcomes).toEqual([{ status: 200, finished: false }])

  const leaving = new AbortController()
  await limit.handle(get({ signal: leaving.signal }), { address }, () => {
    leaving.abort()
    return new Response(parts().body)
  })
  expect(outcomes).toHaveLength(2)
  expect(outcomes[1]).toEqual({ status: 200, finished: false })
})

test.each<[string, RequestInit, () => Response, number]>([
  ['without a body', {}, () => new Response(null, { status: 204 }), 204],
  ['to HEAD', { method: 'HEAD' }, () => new Response('dropped'), 200],
])('a response %s settles at once', async (_, init, make, status) => {
  const { limit, outcomes } = settling()
  await limit.handle(get(init), { address }, make)
  expect(outcomes).toEqual([{ status, finished: true }])
})

test('a handler that throws settles as 500, and what it threw is thrown', async () => {
  const { limit, outcomes } = settling()
  const handled = limit.handle(get(), { address }, () => {
    throw new Error('of the handler')
  })
  await expect(handled).rejects.toThrow('of the handler')
  expect(outcomes).toEqual([{ status: 500, finished: true }])
})

test('a handler that returns nothing, as after an upgrade in Bun, ends its request', async () => {
  const policy = concurrency({ limit: 1, holdTimeout: '1h' })
  const { limit, outcomes } = settling({
    policy,
    limit: undefined,
    window: undefined,
    key: () => 'all',
  })
  for (let i = 0; i < 2; i += 1)
    expect(await limit.handle(get(), { address }, () => undefined as never)).toBeUndefined()
  expect(outcomes).toEqual([
    { status: 101, finished: true },
    { status: 101, finished: true },
  ])
  const both = get()
  const inner = () => limit.handle(both, { address }, () => undefined as never)
  expect(await settling().limit.handle(both, { address }, inner)).toBeUndefined()
})

test('a header that the handler has set itself stays', async () => {
  const { limit } = settling()
  const headers = { RateLimit: 'of another service' }
  const response = await limit.handle(get(), { address }, () => new Response('', { headers }))
  expect(response.headers.get('ratelimit')).toBe('of another service')
  expect(response.headers.get('ratelimit-policy')).toContain('q=10')
})

test('a response whose headers cannot be changed is copied', async () => {
  const { limit } = settling()
  const response = await limit.handle(get(), { address }, () =>
    Response.redirect('http://weir.test/next', 303),
  )
  expect(response.status).toBe(303)
  expect(response.headers.get('location')).toBe('http://weir.test/next')
  expect(response.headers.get('ratelimit')).toContain('r=9')
})

test('a response that takes longer than maxHold breaks off, also one that is made later', async () => {
  const policy = concurrency({ limit: 2, holdTimeout: '1h' })
  const { limit } = settling({
    policy,
    limit: undefined,
    window: undefined,
    maxHold: 1,
    settle: undefined,
  })
  const endless = () => new Response(new ReadableStream())
  const begun = await limit.handle(get(), { address }, endless)
  await expect(begun.text()).rejects.toThrow('maxHold')
  const late = get()
  const made = await limit.handle(late, { address }, async () => {
    const { held } = decisionOf(late) ?? {}
    await vi.waitFor(() => expect(held?.signal.aborted).toBe(true))
    return endless()
  })
  await expect(made.text()).rejects.toThrow('maxHold')
  await vi.waitFor(async () => expect((await limit.limiter.peek(address)).remaining).toBe(2))
})

test('slots of a request whose response Weir does not see expire', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => {
    vi.useRealTimers()
    warn.mockRestore()
  })
  const clock = fakeClock()
  const policy = concurrency({ limit: 1, holdTimeout: '10s' })
  const limit = rateLimit({ name: 'unseen', policy, store: memoryStore({ clock }) })
  expect(await limit(get(), { address })).toBeUndefined()
  clock.advance(11_000)
  vi.advanceTimersByTime(11_000)
  expect(await limit(get(), { address })).toBeUndefined()
  expect(warn.mock.calls.flat()).toContainEqual(expect.objectContaining({ code: 'WEIR_NO_END' }))
})

test('functions of the options get what the caller knows of the client', async () => {
  const limit = rateLimit<{ address: string; user: string }>({
    policy: slidingLog({ limit: 1, window: '1h' }),
    key: (_, { user }) => user,
    onDenied: ({ limit: most }, _, { user }) =>
      user === 'root' ? undefined : new Response(`${user}: ${most}`, { status: 420 }),
  })
  const ask = (user: string) => limit.handle(get(), { address, user }, () => new Response('ok'))
  expect(await (await ask('ann')).text()).toBe('ok')
  expect(await (await ask('ann')).text()).toBe('ann: 1')
  await ask('root')
  expect(await (await ask('root')).text()).toBe('ok')
  expect(limit.limiter).toBeInstanceOf(RateLimiter)
})

test.each<[string, { address?: string | undefined }]>([
  ['node', clientAddress.node({ incoming: { socket: { remoteAddress: address } } })],
  ['bun', clientAddress.bun(get(), { requestIP: () => ({ address }) })],
  ['deno', clientAddress.deno({ remoteAddr: { transport: 'tcp', hostname: address, port: 1 } })],
  ['cloudflare', clientAddress.cloudflare(get({ headers: { 'cf-connecting-ip': address } }))],
  ['vercel', clientAddress.vercel(get({ headers: { 'x-real-ip': address } }))],
])('the address by %s', (_, client) => {
  expect(client.address).toBe(address)
})

test('an address from a header of the platform causes no warning of proxies', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const limit = rateLimit({ name: 'platform', limit: 1, window: '1h' })
  const headers = { 'cf-connecting-ip': address, 'x-forwarded-for': `${address}, 10.0.0.1` }
  const request = get({ headers })
  expect(await limit(request, clientAddress.cloudflare(request))).toBeUndefined()
  expect(warn).not.toHaveBeenCalled()
})
