// `setRateLimitHeaders` sets what an adapter sets for the same decisions.

import { expect, onTestFinished, test, vi } from 'vitest'
import { type HeaderFormat, setRateLimitHeaders } from '../../../src/http/index.js'
import {
  concurrency,
  type Decision,
  fixedWindow,
  lockout,
  memoryStore,
  type PolicyInput,
  RateLimiter,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.js'
import { fakeClock } from '../../../src/testing/index.js'
import { asWritten, type FakeRequest, FakeResponse, limitOn } from '../exchange.js'

type Formats = HeaderFormat | readonly HeaderFormat[] | false

const formats: readonly Formats[] = [
  'draft-8',
  'draft-7',
  'draft-6',
  'legacy',
  'legacy-delta',
  'openai',
  ['draft-6', 'draft-8', 'legacy'],
  [],
  false,
]

const policies: Readonly<Record<string, PolicyInput>> = {
  'one policy without a name': slidingWindow({ limit: 2, window: '1m' }),
  'several, one of which is hidden': [
    tokenBucket({ name: 'burst', capacity: 3, refill: 1, every: '20s', unit: 'tokens' }),
    fixedWindow({ name: 'requests', limit: 100, window: '1d' }),
    fixedWindow({ name: 'all', limit: 2, window: '90s' }),
  ],
  'a lock-out': lockout({ limit: 2, window: '15m', block: ['1h'], forget: '1d' }),
  'a cost that never passes': fixedWindow({ limit: 0, window: '1m' }),
  slots: concurrency({ limit: 2, holdTimeout: '30s' }),
}

/** What it sets, by names as adapters write them. */
function written(
  decisions: Decision | readonly Decision[],
  options?: object,
): Record<string, string> {
  const headers = new Headers()
  setRateLimitHeaders(headers, decisions, options)
  return Object.fromEntries([...headers].map(([name, value]) => [named(name), value]))
}

const named = (name: string) =>
  ({ 'retry-after': 'Retry-After', 'cache-control': 'Cache-Control' })[name] ?? asWritten(name)

test.each(
  formats.flatMap((headers) => Object.keys(policies).map((name) => [headers, name] as const)),
)('%j, %s', async (headers, name) => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const clock = fakeClock()
  const policy = policies[name] as PolicyInput
  const hide = Array.isArray(policy) ? ['all'] : []
  const outer = limitOn({ name: 'outer', limit: 9, window: '1h', headers }, clock)
  const inner = limitOn({ name: 'inner', policy, headers, hide }, clock)
  let denied = 0
  for (let i = 0; i < 4; i += 1) {
    const request: FakeRequest = {}
    // The last limiter of a request writes every field for all of them.
    const response = new FakeResponse()
    await outer.send(request, new FakeResponse())
    denied += (await inner.send(request, response)) === undefined ? 0 : 1
    const decisions = request.rateLimit?.all ?? []
    expect(decisions.length).toBe(2)
    expect(written(decisions, { headers, hide })).toEqual(response.headers)
  }
  expect(denied).toBeGreaterThan(0)
})

test('an allowed decision sets one field of its own format, and no wait', async () => {
  const limiter = new RateLimiter({
    name: 'api',
    store: memoryStore(),
    policy: slidingWindow({ name: 'api', limit: 100, window: '1m' }),
  })
  const decision = await limiter.consume('u42')
  expect(written(decision)).toEqual({
    'RateLimit-Policy': '"api";q=100;w=60',
    RateLimit: '"api";r=99;t=60',
  })
  const map = new Map<string, string>()
  setRateLimitHeaders(map, decision, { headers: 'legacy-delta' })
  expect(map.get('x-ratelimit-remaining')).toBe('99')
})

test('options that it does not know are refused', async () => {
  const limiter = new RateLimiter({ policy: slidingWindow({ limit: 100, window: '1m' }) })
  const decision = await limiter.consume('u42')
  const set = (options: object) => () => setRateLimitHeaders(new Headers(), decision, options)
  const error = expect.objectContaining({ code: 'WEIR_INVALID_OPTION' })
  expect(set({ format: 'draft-8' })).toThrow(error)
  expect(set({ headers: 'draft-9' })).toThrow(error)
  expect(set({ hide: 'all' })).toThrow(error)
})
