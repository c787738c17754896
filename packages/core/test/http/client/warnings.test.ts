// Setups that work but are certainly mistakes cause one warning. Each test loads the modules again,
// since a process gives each warning once.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LimitOptions, Trust } from '../../../src/http/index.js'
import { catchWarnings } from '../../warnings.js'
import type { FakeRequest } from '../exchange.js'

const warnings = catchWarnings()
beforeEach(() => void vi.resetModules())
afterEach(() => void vi.unstubAllEnvs())

async function warningsOf(
  requests: FakeRequest[],
  options: Partial<LimitOptions<FakeRequest>> = {},
): Promise<string[]> {
  const { limitOn } = await import('../exchange.js')
  const limits = [
    limitOn({ limit: 1e6, window: '1m', ...options } as never),
    limitOn({ limit: 1e6, window: '1m', ...options } as never),
  ]
  for (const request of requests) for (const { send } of limits) await send(request)
  return warnings.codes
}

const forwarded = { 'x-forwarded-for': '9.9.9.9' }

test('many issues: behind a proxy that nobody trusts, all clients share one bucket. One warning', async () => {
  const requests = Array.from({ length: 5 }, () => ({
    trust: 'nobody' as Trust,
    headers: forwarded,
  }))
  expect(await warningsOf(requests)).toEqual(['WEIR_FORWARDED_IGNORED'])
  expect(warnings.texts[0]).toContain('x-forwarded-for')
})

test.each(['forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip'])(
  '%s ignored',
  async (name) => {
    const requests: FakeRequest[] = [
      { trust: 'nobody' },
      { trust: 'nobody', headers: { [name]: '9.9.9.9' } },
    ]
    expect(await warningsOf(requests)).toEqual(['WEIR_FORWARDED_IGNORED'])
  },
)

test('a trusted proxy that names no readable client: one warning for each header', async () => {
  const proxies = { trusted: ['127.0.0.1'] }
  const requests = ['', '<script>', '9.9.9.9'].map((value) => ({
    peer: '127.0.0.1',
    headers: { 'x-forwarded-for': value, forwarded: value },
  }))
  expect(await warningsOf(requests, { proxies })).toEqual(['WEIR_NO_ADDRESS'])
  expect(warnings.texts[0]).toContain('x-forwarded-for')
  expect(warnings.texts[0]).not.toContain('script')
  await warningsOf(requests, { proxies: { ...proxies, header: 'forwarded' } })
  expect(warnings.all).toHaveLength(2)
})

test('an adapter that returns all headers is asked for them once, and not for each', async () => {
  const { fake } = await import('../exchange.js')
  const header = vi.spyOn(fake, 'header')
  const headers = vi.fn((request: FakeRequest) => request.headers ?? {})
  Object.assign(fake, { headers })
  const request: FakeRequest = { trust: 'nobody', headers: { 'true-client-ip': '9.9.9.9' } }
  expect(await warningsOf([request])).toEqual(['WEIR_FORWARDED_IGNORED'])
  expect(header).not.toHaveBeenCalled()
  // Once for each of the two limiters.
  expect(headers).toHaveBeenCalledTimes(2)
})

test.each<[Trust, string[]]>([
  ['everybody', ['WEIR_TRUST_ALL']],
  ['inert', ['WEIR_TRUST_INERT']],
  ['listed', []],
  ['nobody', []],
])('a framework that trusts %s', async (trust, codes) => {
  const headers = trust === 'nobody' ? {} : forwarded
  expect(
    await warningsOf([
      { trust, headers },
      { trust, headers },
    ]),
  ).toEqual(codes)
})

test('no warning if the address does not count, or is found in another way', async () => {
  const request: FakeRequest = { trust: 'nobody', headers: forwarded, peer: '127.0.0.1' }
  expect(await warningsOf([request], { key: () => 'k' })).toEqual([])
  expect(await warningsOf([request], { proxies: { trusted: ['loopback'] } })).toEqual([])
})

test('no warning if something before the limiter has found the address', async () => {
  const request: FakeRequest = {
    ...{ trust: 'nobody', headers: forwarded },
    ...{ address: '9.9.9.9', peer: '127.0.0.1' },
  }
  expect(await warningsOf([request])).toEqual([])
  expect(await warningsOf([{ ...request, address: '127.0.0.1' }])).toEqual([
    'WEIR_FORWARDED_IGNORED',
  ])
})

test('forwarded requests are noticed after any number of internal probes', async () => {
  const plain = Array.from({ length: 1_000 }, () => ({ trust: 'nobody' as Trust }))
  const clients = Array.from({ length: 64 }, () => ({
    trust: 'nobody' as Trust,
    headers: forwarded,
  }))
  expect(await warningsOf([...plain, ...clients])).toEqual(['WEIR_FORWARDED_IGNORED'])
})

test('only a few requests are inspected closely', async () => {
  const { fake, limitOn } = await import('../exchange.js')
  const trust = vi.spyOn(fake, 'trust')
  const { send } = limitOn({ limit: 1e6, window: '1m' })
  for (let i = 0; i < 1_000; i += 1) await send({ trust: 'nobody' })
  expect(trust.mock.calls.length).toBeLessThan(120)
  const settled = limitOn({ limit: 1e6, window: '1m' })
  trust.mockClear()
  for (let i = 0; i < 10; i += 1) await settled.send({ trust: 'listed' })
  expect(trust).toHaveBeenCalledTimes(1)
})

test.each<[string, (address: string, hop: number) => boolean, string[]]>([
  ['everybody', () => true, ['WEIR_TRUST_ALL']],
  ['everybody but IPv6', (address) => !address.includes(':'), []],
  ['its proxies', (address) => address.startsWith('10.'), []],
  ['nobody', () => false, []],
  [
    'who can be looked up',
    () => {
      throw new Error('unknown')
    },
    [],
  ],
])('proxies.trusted, a function that trusts %s', async (_, trusted, codes) => {
  expect(await warningsOf([], { proxies: { trusted: trusted as () => boolean } })).toEqual(codes)
})

/** Requests, each of which makes its limiter if it is the first to need it. */
async function madeInRequests(
  requests: readonly FakeRequest[],
  limiterOf: (request: FakeRequest, i: number) => unknown,
): Promise<string[]> {
  const { httpLimiter } = await import('../../../src/http/index.js')
  const { fake } = await import('../exchange.js')
  const adapter = {
    ...fake,
    isMiddleware: true,
    url: ({ user }: FakeRequest) => `/${user}`,
    headers: (request: FakeRequest) => request.headers ?? {},
  }
  const made = new Map<unknown, ReturnType<typeof httpLimiter<FakeRequest, never>>['check']>()
  for (const [i, request] of requests.entries()) {
    const which = limiterOf(request, i)
    const check = made.get(which) ?? httpLimiter({ limit: 2, window: '1m' }, adapter).check
    made.set(which, check)
    await check({ ...request }, undefined)
  }
  return warnings.codes
}

/** Each request has a unique header. */
function traced(i: number, user = 'all'): FakeRequest {
  return { user, headers: { host: 'a', traceparent: `${i}`, 'x-request-id': `${i}` } }
}

const each = (_: FakeRequest, i: number) => i

test('limiters that are made by each request are noticed at the third equal one', async () => {
  const requests = Array.from({ length: 200 }, (_, i) => traced(i))
  expect(await madeInRequests(requests.slice(0, 2), each)).toEqual([])
  expect(await madeInRequests(requests.slice(0, 1), each)).toEqual(['WEIR_MADE_IN_REQUEST'])
  expect(await madeInRequests(requests, each)).toEqual(['WEIR_MADE_IN_REQUEST'])
})

test('and if requests of several clients alternate', async () => {
  const requests = Array.from({ length: 12 }, (_, i) => traced(i, `page-${i % 4}`))
  expect(await madeInRequests(requests, each)).toEqual(['WEIR_MADE_IN_REQUEST'])
})

test.each([
  ['twelve, one after the other', (i: number) => Math.floor(i / 30), 360],
  ['twelve, in turn', (i: number) => i % 12, 360],
  ['ever new ones', (i: number) => i, 400],
  ['three hundred, in turn', (i: number) => i % 300, 700],
])('no warning for limiters of tenants that are kept in a Map: %s', async (_, tenantOf, length) => {
  const requests = Array.from({ length }, (_, i) => traced(i, `tenant-${tenantOf(i)}`))
  expect(await madeInRequests(requests, ({ user }) => user)).toEqual([])
})

test('no warning once a limiter is used again, however its tenant is found', async () => {
  const requests = Array.from({ length: 200 }, (_, i) => traced(i))
  expect(await madeInRequests(requests, (_, i) => Math.floor(i / 30))).toEqual([])
})

test('a memory store in a worker of a cluster', async () => {
  const real = process.getBuiltinModule
  vi.spyOn(process, 'getBuiltinModule').mockImplementation(((name: string) =>
    name.endsWith('cluster') ? { isWorker: true } : real(name)) as never)
  expect(await warningsOf([])).toEqual(['WEIR_MEMORY_IN_CLUSTER'])
})

test.each([
  ['0', []],
  ['1', ['WEIR_MEMORY_IN_CLUSTER']],
  ['x', []],
])('a memory store in instance %s of a process manager', async (instance, codes) => {
  vi.stubEnv('NODE_APP_INSTANCE', instance)
  expect(await warningsOf([])).toEqual(codes)
})

test.each(['AWS_LAMBDA_FUNCTION_NAME', 'VERCEL', 'K_SERVICE'])(
  'a memory store where %s says that processes start by the number of requests',
  async (variable) => {
    vi.stubEnv(variable, '1')
    expect(await warningsOf([])).toEqual(['WEIR_MEMORY_IN_FUNCTION'])
    expect(warnings.texts[0]).toContain(variable)
  },
)

test('another store in a cluster, and in a function', async () => {
  vi.stubEnv('NODE_APP_INSTANCE', '3')
  vi.stubEnv('VERCEL', '1')
  const store = { decide: () => expect.unreachable(), reset: () => undefined }
  expect(await warningsOf([], { store })).toEqual([])
})
