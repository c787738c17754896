// Each header format, over real HTTP, parsed by an independent parser.

import {
  concurrency,
  fixedWindow,
  memoryStore,
  RateLimiter,
  type Store,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import { type HeaderFormat, RATE_LIMIT_HEADERS, setRateLimitHeaders } from '@weir/core/http'
import { fakeClock } from '@weir/core/testing'
import { type Item, parseList } from 'structured-headers'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Answer, ask, serve } from './client.js'
import { servers } from './servers/table.js'

describe.each(servers)('$name', (kind) => {
  let store: Store
  beforeEach(() => {
    store = memoryStore({ clock: fakeClock() })
  })

  /** The second response of a server with two limiters, one of which has two policies. */
  async function second(headers: HeaderFormat | readonly HeaderFormat[] | false): Promise<Answer> {
    const { url } = await serve(kind, {
      limiters: [
        { store, name: 'outer', limit: 10, window: '1m', headers },
        {
          store,
          name: 'inner',
          headers,
          policy: [
            tokenBucket({ name: 'burst', capacity: 4, refill: 2, every: '1s' }),
            fixedWindow({ name: 'daily', limit: 100, window: '1d' }),
            // The same name as the outer limiter's policy.
            slidingWindow({ name: 'outer', limit: 20, window: '1h' }),
          ],
        },
      ],
    })
    await ask(url)
    return ask(url)
  }

  test('draft-8: one well-formed field each, with all policies of all limiters', async () => {
    const answer = await second('draft-8')
    expect(listOf(answer, 'ratelimit-policy')).toEqual([
      ['outer', { q: 10, w: 60 }],
      ['burst', { q: 4, w: 2 }],
      ['daily', { q: 100, w: 86_400 }],
      ['inner.outer', { q: 20, w: 3_600 }],
    ])
    expect(listOf(answer, 'ratelimit')).toEqual([
      ['outer', { r: 8, t: 60 }],
      ['burst', { r: 2, t: 1 }],
      ['daily', { r: 98, t: expect.any(Number) }],
      ['inner.outer', { r: 18, t: 3_600 }],
    ])
    expect(others(answer)).toEqual([])
  })

  test.each(['draft-6', 'legacy', 'legacy-delta'] as const)(
    '%s: no field of an earlier limiter is left where one binds that does not have it',
    async (headers) => {
      const { url } = await serve(kind, {
        limiters: [
          { store, name: 'outer', limit: 10, window: '1m', headers },
          // Slots have no window.
          { store, headers, policy: concurrency({ name: 'slots', limit: 2, holdTimeout: '1m' }) },
        ],
      })
      const { headers: sent } = await ask(url)
      const prefix = headers === 'draft-6' ? 'ratelimit' : 'x-ratelimit'
      expect([sent[`${prefix}-limit`], sent[`${prefix}-remaining`]]).toEqual(['2', '1'])
      expect(sent).not.toHaveProperty(`${prefix}-reset`)
    },
  )

  test('setRateLimitHeaders sets the same fields for the same decision', async () => {
    const policy = [
      tokenBucket({ name: 'burst', capacity: 2, refill: 1, every: '7s' }),
      fixedWindow({ name: 'daily', limit: 100, window: '1d' }),
    ]
    const headers = ['draft-8', 'legacy-delta'] as const
    const { url } = await serve(kind, {
      limiters: [{ store, name: 'api', policy, key: () => 'k', headers }],
    })
    const elsewhere = memoryStore({ clock: fakeClock() })
    const limiter = new RateLimiter({ store: elsewhere, name: 'api', policy })
    const statuses: number[] = []
    for (let i = 0; i < 3; i += 1) {
      const answer = await ask(url)
      const set = new Headers()
      setRateLimitHeaders(set, await limiter.consume('k'), { headers })
      const ours = Object.entries(answer.headers).filter(([name]) =>
        [...RATE_LIMIT_HEADERS, 'Cache-Control'].some((each) => each.toLowerCase() === name),
      )
      expect(Object.fromEntries(set)).toEqual(Object.fromEntries(ours))
      statuses.push(answer.status)
    }
    expect(statuses).toEqual([200, 200, 429])
  })

  describe('a gateway whose upstream sends limits of its own', () => {
    /** What clients of a gateway get that copies the headers of an upstream, except for some. */
    async function throughGateway(isKept: (name: string) => boolean): Promise<Answer> {
      const upstream = await serve(kind, {
        limiters: [{ name: 'upstream', limit: 9, window: '1s', headers: ['draft-7', 'legacy'] }],
        handler: () => ({ status: 503, headers: { 'retry-after': '5' }, body: 'busy' }),
      })
      const { url } = await serve(kind, {
        limiters: [{ store, name: 'gateway', limit: 100, window: '1m' }],
        handler: async () => {
          const { status, headers } = await fetch(upstream.url)
          const kept = [...headers].filter(([name]) => isKept(name))
          return { status, headers: Object.fromEntries(kept), body: 'busy' }
        },
      })
      return ask(url)
    }

    test('sends a mixture, if it copies them', async () => {
      const { headers } = await throughGateway(
        (name) => name.includes('ratelimit') && name !== 'ratelimit-policy',
      )
      expect(headers['ratelimit-policy']).toBe('"gateway";q=100;w=60')
      expect(headers.ratelimit).toBe('limit=9, remaining=8, reset=1')
      expect(headers['x-ratelimit-limit']).toBe('9')
    })

    test("sends its own, if it leaves upstream's out, and passes Retry-After on", async () => {
      const { headers } = await throughGateway((name) => {
        const isLimit = RATE_LIMIT_HEADERS.some((each) => each.toLowerCase() === name)
        return name === 'retry-after' || !(isLimit || /^(content|transfer)-/.test(name))
      })
      expect(headers['ratelimit-policy']).toBe('"gateway";q=100;w=60')
      expect(headers.ratelimit).toBe('"gateway";r=99;t=60')
      expect(headers['x-ratelimit-limit']).toBeUndefined()
      expect(headers['retry-after']).toBe('5')
    })
  })

  test.each([[false], [[]]] as const)('none with %j', async (headers) => {
    const answer = await second(headers)
    expect([...answer.lines.keys()].filter((name) => name.includes('ratelimit'))).toEqual([])
  })

  test('Retry-After is always sent, with the longest wait of the limiters that refused', async () => {
    const policy = [
      fixedWindow({ name: 'hour', limit: 1, window: '1h' }),
      slidingWindow({ name: 'minute', limit: 1, window: '1m' }),
      slidingWindow({ name: 'roomy', limit: 9, window: '1d' }),
    ]
    const { url } = await serve(kind, { limiters: [{ store, policy, headers: false }] })
    await ask(url)
    const wait = Number(line(await ask(url), 'retry-after'))
    expect(wait).toBe(3_600)
  })
})

/** A header that came exactly once. */
function line({ headers, lines }: Answer, name: string): string {
  expect(lines.get(name), `lines of ${name}`).toBe(1)
  return headers[name] as string
}

/** The members of a list, with their parameters. */
function listOf(answer: Answer, name: string): [unknown, Record<string, unknown>][] {
  return parseList(line(answer, name)).map((member) => {
    const [value, parameters] = member as Item
    return [value, Object.fromEntries(parameters)]
  })
}

/** Limit headers other than the two of draft 8. */
function others({ lines }: Answer): string[] {
  return [...lines.keys()]
    .filter((name) => /^(x-)?ratelimit-(limit|remaining|reset)$/.test(name))
    .sort()
}
