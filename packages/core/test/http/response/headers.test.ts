// The content of headers: an independent parser reads every field, and its values are those of the
// policies.

import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { parseRateLimit } from 'ratelimit-header-parser'
import { parseDictionary, parseItem, parseList } from 'structured-headers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { counterOf, withLimit } from '../../../src/algorithms/policy.js'
import type { Clock } from '../../../src/base/clock.js'
import { processTime } from '../../../src/base/time.js'
import type { PolicyResult } from '../../../src/entries/store.js'
import { RATE_LIMIT_HEADERS } from '../../../src/http/index.js'
import {
  fieldsOf,
  type HeaderFormat,
  retryAfterSeconds,
} from '../../../src/http/response/headers.js'
import { responseSettings, withDecision } from '../../../src/http/response/request-decision.js'
import { writeHeaders } from '../../../src/http/response/shown.js'
import {
  concurrency,
  type Decision,
  type Duration,
  fixedWindow,
  gcra,
  leakyBucket,
  lockout,
  memoryStore,
  type Policy,
  policyFrom,
  RateLimiter,
  type Store,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  unlimited,
} from '../../../src/index.js'
import { fakeClock } from '../../../src/testing/index.js'
import { asWritten, type FakeRequest, FakeResponse, limitOn } from '../exchange.js'

test.each([1_000, 1_500])(
  'while the store is away, a refusal names one wait: %i ms',
  async (ms) => {
    const policy = fixedWindow({ name: 'p', limit: 5, window: '1m' })
    const store: Store = {
      decide: ({ target }) => ({
        ...{ granted: 0, nowUs: 0, untilUs: [0], source: 'local', degraded: true },
        policies: target.policySet.policies.map((each) => figuresOf(each, { remaining: 0 })),
        unavailableMs: ms,
      }),
      reset: () => undefined,
    }
    const response = new FakeResponse()
    const headers = ['draft-8', 'draft-6', 'legacy-delta'] as const
    expect(await limitOn({ policy, store, headers }).send({}, response)).toMatchObject({
      status: 503,
    })
    const wait = response.headers['Retry-After'] as string
    expect(wait).toBe(String(Math.ceil(ms / 1_000)))
    expect(response.headers).toMatchObject({
      RateLimit: `"p";r=0;t=${wait}`,
      'RateLimit-Reset': wait,
      'X-RateLimit-Reset': wait,
    })
  },
)

const HOUR = 3_600_000
const ALL: readonly HeaderFormat[] = [
  'draft-8',
  'draft-7',
  'draft-6',
  'legacy',
  'legacy-delta',
  'openai',
]

type Figures = Partial<Omit<PolicyResult, 'policy'>>

function figuresOf(policy: Policy, figures: Figures): PolicyResult {
  return {
    policy,
    cost: 1,
    limit: policy.limit,
    remaining: policy.limit,
    retryAfterMs: 0,
    resetAfterMs: 0,
    ...figures,
  }
}

function decisionOf(allowed: boolean, policies: readonly PolicyResult[]): Decision {
  const [binding] = policies as [PolicyResult]
  return {
    ...binding,
    allowed,
    key: 'k',
    policies,
    source: 'store',
    degraded: false,
  } as unknown as Decision
}

/** A policy that no factory would make. */
function forged(policy: Policy, parts: Partial<Policy>): Policy {
  return { ...policy, kernel: policy.kernel, numbers: policy.numbers, ...parts }
}

type Formats = readonly HeaderFormat[]

/**
 * The headers of a response on which these limiters decided, in common formats or in those of each.
 */
function told(
  decisions: readonly Decision[],
  formats: Formats | readonly Formats[] = ['draft-8'],
  hidden: readonly string[] = [],
  clock: Clock = processTime,
): Record<string, string> {
  const response = new FakeResponse()
  decisions.reduce<ReturnType<typeof withDecision> | undefined>((before, decision, i) => {
    const wanted = (typeof formats[0] === 'object' ? formats[i] : formats) as Formats
    const own = responseSettings(`limiter-${i}`, wanted, hidden)
    const placed = withDecision(before, decision, own)
    const set = (to: FakeResponse, name: string, value: string): void => {
      to.headers[asWritten(name)] = value
    }
    writeHeaders(clock, placed, own, response, set, undefined)
    return placed
  }, undefined)
  return response.headers
}

describe('r and t', () => {
  const fixed = fixedWindow({ name: 'p', limit: 100, window: '1m' })
  const sliding = slidingWindow({ name: 'p', limit: 100, window: '1m' })
  const log = slidingLog({ name: 'p', limit: 100, window: '1m' })
  const counter = slidingCounter({ name: 'p', limit: 100, window: '1m' })
  const bucket = tokenBucket({ name: 'p', capacity: 20, refill: 10, every: '1s' })
  const cells = gcra({ name: 'p', limit: 1, period: '1s', burst: 30 })
  const leaky = leakyBucket({ name: 'p', capacity: 5, leak: 1, every: '90s' })
  const none = fixedWindow({ name: 'p', limit: 0, window: '1m' })

  type Numbers = [remaining: number, retryAfterMs: number, resetAfterMs: number, cost?: number]
  test.each<[string, Policy, Numbers, isAllowed: boolean, string]>([
    ['fixed window: to its end', fixed, [40, 0, 41_200], true, 'r=40;t=42'],
    ['fixed window: exhausted', fixed, [0, 41_200, 41_200], true, 'r=0;t=42'],
    ['fixed window: denied', fixed, [0, 1, 1], false, 'r=0;t=1'],
    ['fixed window: not begun', fixed, [100, 0, 0, 0], true, 'r=100;t=60'],
    ['sliding window: the whole window', sliding, [40, 0, 12_000], true, 'r=40;t=60'],
    ['sliding window: nothing used', sliding, [100, 0, 0], true, 'r=100;t=60'],
    ['sliding window: 64 used', sliding, [36, 0, 12_000], true, 'r=36;t=60'],
    ['sliding window: exhausted', sliding, [0, 900, 60_000], true, 'r=0;t=1'],
    ['sliding log: the whole window', log, [1, 0, 12_000], true, 'r=1;t=60'],
    ['sliding log: denied', log, [0, 12_001, 60_000], false, 'r=0;t=13'],
    ['sliding counter: the whole window', counter, [7, 0, 80_000], true, 'r=7;t=60'],
    ['token bucket: at its rate', bucket, [13, 0, 700], true, 'r=13;t=2'],
    ['token bucket: full', bucket, [20, 0, 0], true, 'r=20;t=2'],
    ['token bucket: empty', bucket, [0, 100, 2_000], true, 'r=0;t=1'],
    ['gcra: at its rate', cells, [29, 0, 1_000], true, 'r=29;t=29'],
    ['leaky bucket: at its rate', leaky, [2, 0, 270_000], true, 'r=2;t=180'],
    ['a cost that does not fit yet', bucket, [3, 1_200, 0, 10], false, 'r=3;t=2'],
    ['a cost that never fits, some left', fixed, [3, Infinity, 5_000, 200], false, 'r=3;t=5'],
    ['a cost that never fits, none left', fixed, [0, Infinity, 5_000, 200], false, 'r=0;t=5'],
    ['a cost that never fits, one left', log, [1, Infinity, 5_000, 200], false, 'r=1;t=60'],
    ['a limit of 0', none, [0, Infinity, 0], false, 'r=0'],
    ['a wait of a month', fixed, [0, 30 * 24 * HOUR, 0], false, 'r=0;t=2592000'],
    ['more left than the limit', fixed, [101, 0, 1_000], true, 'r=101;t=1'],
    ['less than nothing left', fixed, [-3, 1_000, 0], true, 'r=0;t=1'],
  ])('%s', (_, policy, [remaining, retryAfterMs, resetAfterMs, cost = 1], isAllowed, text) => {
    const figures = figuresOf(policy, { cost, remaining, retryAfterMs, resetAfterMs })
    expect(told([decisionOf(isAllowed, [figures])]).RateLimit).toBe(`"p";${text}`)
  })

  test('a policy whose remaining units equal the cost did not deny', () => {
    const denied = decisionOf(false, [
      figuresOf(sliding, { cost: 5, remaining: 5 }),
      figuresOf(slidingLog({ name: 'q', limit: 9, window: '1m' }), {
        cost: 5,
        remaining: 4,
        retryAfterMs: 2_000,
      }),
    ])
    expect(told([denied]).RateLimit).toBe('"p";r=5;t=60, "q";r=4;t=2')
  })

  test('never suggest more than the sustained rate of a bucket', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 10_000 }),
        fc.nat(),
        (capacity, refill, seed) => {
          const policy = tokenBucket({ name: 'p', capacity, refill, every: '1m' })
          const remaining = 1 + (seed % capacity)
          const headers = told([decisionOf(true, [figuresOf(policy, { remaining })])])
          const [, r, t] = /^"p";r=(\d+);t=(\d+)$/.exec(headers.RateLimit ?? '') ?? []
          const [, w] = /;w=(\d+)$/.exec(headers['RateLimit-Policy'] ?? '') ?? []
          // The shown window, if there is one: w is rounded within a thousandth.
          const rate = w === undefined ? refill / 60 : capacity / Number(w)
          expect(Number(r) / Number(t)).toBeLessThanOrEqual(rate * 1.000001)
          expect(rate).toBeLessThanOrEqual((refill / 60) * 1.00101)
          if (w !== undefined) expect(Number(t)).toBeLessThanOrEqual(Number(w))
        },
      ),
    )
  })
})

test('61 was sent for a bucket of 60 s, whose rate was rounded: t is not above w while units are left', () => {
  const odd = tokenBucket({ name: 'p', capacity: 7, refill: 7, every: '1m' })
  expect(odd.windowMs).toBeGreaterThan(60_000)
  expect(told([decisionOf(true, [figuresOf(odd, {})])])).toEqual({
    'RateLimit-Policy': '"p";q=7;w=60',
    RateLimit: '"p";r=7;t=60',
  })
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      fc.integer({ min: 1, max: 3_600 }),
      fc.nat(),
      (capacity, seconds, seed) => {
        const every = seconds * 1_000
        const policy = tokenBucket({ name: 'p', capacity, refill: capacity, every })
        const remaining = 1 + (seed % capacity)
        const { RateLimit } = told([decisionOf(true, [figuresOf(policy, { remaining })])])
        expect(RateLimit).toBe(
          `"p";r=${remaining};t=${Math.ceil((remaining * seconds) / capacity)}`,
        )
      },
    ),
  )
})

test('5 was sent for a window of 4,002 ms beside w=4: t is not above w, which is whole or omitted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), fc.nat(), (window, seed) => {
      const policy = fixedWindow({ name: 'p', limit: 75, window })
      const result = figuresOf(policy, { remaining: 74, resetAfterMs: 1 + (seed % window) })
      const headers = told([decisionOf(true, [result])])
      const [, t] = /;t=(\d+)$/.exec(headers.RateLimit ?? '') ?? []
      const [, w] = /;w=(\d+)$/.exec(headers['RateLimit-Policy'] ?? '') ?? []
      expect(w).toBe(window % 1_000 === 0 ? String(window / 1_000) : undefined)
      if (w !== undefined) expect(Number(t)).toBeLessThanOrEqual(Number(w))
    }),
    { examples: [[4_002, 4_001]] },
  )
})

describe('q and w', () => {
  const window = (limit: number, span: Duration) => fixedWindow({ name: 'p', limit, window: span })
  const bucket = (capacity: number, refill: number, every: Duration) =>
    tokenBucket({ name: 'p', capacity, refill, every })
  const forgedLimit = forged(window(1, '1m'), { limit: 2 ** 50 })

  test.each<[string, Policy, string]>([
    ['a window', window(120, '1m'), 'q=120;w=60'],
    ['a window that is not whole seconds', window(5, 1_500), 'q=5'],
    ['a window that is nearly whole seconds', window(75, 4_002), 'q=75'],
    ['a window below a second', window(5, '250ms'), 'q=5'],
    ['a bucket: the time to fill it', bucket(20, 10, '1s'), 'q=20;w=2'],
    ['a bucket of an odd rate', bucket(7, 7, '1m'), 'q=7;w=60'],
    ['a bucket that fills in part of a second', bucket(5, 2, '1s'), 'q=5'],
    ['beyond an integer', forgedLimit, 'q=999999999999999;w=60'],
    ['nothing allowed', window(0, '1m'), 'q=0;w=60'],
    ['a bucket of nothing', bucket(0, 1, '1s'), 'q=0'],
  ])('%s', (_, policy, expected) => {
    const headers = told([decisionOf(true, [figuresOf(policy, {})])], ['draft-8'])
    expect(headers['RateLimit-Policy']).toBe(`"p";${expected}`)
    const older = told([decisionOf(true, [figuresOf(policy, {})])], ['draft-6'])
    expect(older['RateLimit-Policy']).toBe(expected.replace('q=', ''))
  })
})

describe('the unit of a policy', () => {
  const times = { limit: 9, window: '1m' } as const
  const makers: [string, (unit: string) => Policy][] = [
    ...[fixedWindow, slidingWindow, slidingLog, slidingCounter].map((make) => {
      return [
        make.name,
        (unit: string) => make({ name: 'p', unit, ...times }),
      ] as (typeof makers)[0]
    }),
    [
      'tokenBucket',
      (unit) => tokenBucket({ name: 'p', unit, capacity: 9, refill: 9, every: '1m' }),
    ],
    ['leakyBucket', (unit) => leakyBucket({ name: 'p', unit, capacity: 9, leak: 9, every: '1m' })],
    ['gcra', (unit) => gcra({ name: 'p', unit, burst: 9, limit: 9, period: '1m' })],
    ['lockout', (unit) => lockout({ name: 'p', unit, ...times, block: ['1m'], forget: '1h' })],
  ]

  test.each(makers)('of %s is shown, unless it is requests, and stays', (_, make) => {
    const shown = (policy: Policy) =>
      told([decisionOf(true, [figuresOf(policy, {})])], ['draft-8'])['RateLimit-Policy']
    expect(shown(make('tokens'))).toBe('"p";q=9;qu="tokens";w=60')
    expect(shown(make('requests'))).toBe('"p";q=9;w=60')
    const smaller = withLimit(make('tokens'), 5)
    expect(shown(smaller)).toBe('"p";q=5;qu="tokens";w=60')
    expect(
      shown(policyFrom({ ...make('tokens').options, algorithm: make('tokens').algorithm })),
    ).toBe('"p";q=9;qu="tokens";w=60')
    const older = told([decisionOf(true, [figuresOf(make('tokens'), {})])], ['draft-7'])
    expect(older['RateLimit-Policy']).toBe('9;w=60')
  })

  test.each(makers)('of %s is a name', (_, make) => {
    for (const wrong of ['', 'a b', '"', 'x'.repeat(65), 7, null])
      expect(() => make(wrong as string)).toThrow(
        expect.objectContaining({ code: 'WEIR_INVALID_NAME' }),
      )
  })

  test('distinguishes policies with the same name and the same count', () => {
    const [requests, tokens] = [makers[0]?.[1]('requests'), makers[0]?.[1]('tokens')] as [
      Policy,
      Policy,
    ]
    expect(requests.signature).not.toBe(tokens.signature)
    expect(counterOf(requests)).toBe(counterOf(tokens))
  })
})

test('slots have their own unit, no window, and a time only when none is left', () => {
  const policy = concurrency({ name: 'p', limit: 9, holdTimeout: '1m' })
  const shown = (figures: object, allowed = true) => {
    const headers = told(
      [decisionOf(allowed, [figuresOf(policy, figures)])],
      ['draft-8', 'draft-6'],
    )
    const { 'RateLimit-Policy': of, RateLimit: now, 'RateLimit-Reset': reset } = headers
    return { of, now, reset }
  }
  const of = '"p";q=9;qu="concurrent-requests"'
  expect(shown({ remaining: 4, resetAfterMs: 50_000 })).toEqual({
    of,
    now: '"p";r=4',
    reset: undefined,
  })
  const none = { remaining: 0, retryAfterMs: 1_000, resetAfterMs: 50_000 }
  expect(shown(none, false)).toEqual({ of, now: '"p";r=0;t=1', reset: '1' })
})

describe('formats', () => {
  const minute = fixedWindow({ name: 'minute', limit: 120, window: '1m' })
  const day = fixedWindow({ name: 'day', limit: 1_000, window: '1d' })
  const allowed = decisionOf(true, [
    figuresOf(minute, { remaining: 87, resetAfterMs: 41_200 }),
    figuresOf(day, { remaining: 300, resetAfterMs: 2 * HOUR }),
  ])

  test.each<[HeaderFormat, Record<string, string>]>([
    [
      'draft-8',
      {
        'RateLimit-Policy': '"minute";q=120;w=60, "day";q=1000;w=86400',
        RateLimit: '"minute";r=87;t=42, "day";r=300;t=7200',
      },
    ],
    [
      'draft-7',
      {
        'RateLimit-Policy': '120;w=60, 1000;w=86400',
        RateLimit: 'limit=1000, remaining=300, reset=7200',
      },
    ],
    [
      'draft-6',
      {
        'RateLimit-Policy': '120;w=60, 1000;w=86400',
        'RateLimit-Limit': '1000',
        'RateLimit-Remaining': '300',
        'RateLimit-Reset': '7200',
      },
    ],
    [
      'legacy-delta',
      { 'X-RateLimit-Limit': '1000', 'X-RateLimit-Remaining': '300', 'X-RateLimit-Reset': '7200' },
    ],
  ])('%s', (format, expected) => {
    expect(told([allowed], [format])).toEqual(expected)
  })

  test.each<HeaderFormat>(['draft-7', 'draft-6', 'legacy', 'legacy-delta'])(
    'ratelimit-header-parser understands %s',
    (format) => {
      vi.useFakeTimers({ toFake: ['Date'] })
      onTestFinished(() => void vi.useRealTimers())
      const parsed = parseRateLimit(new Headers(told([allowed], [format])))
      expect(parsed).toMatchObject({ limit: 1_000, remaining: 300, used: 700 })
      const waitMs = Number(parsed?.reset) - Date.now()
      // In whole seconds.
      expect(waitMs).toBeGreaterThan(2 * HOUR - 1_000)
      expect(waitMs).toBeLessThanOrEqual(2 * HOUR + 1_000)
    },
  )

  test('legacy resets at a second since 1970, rounded up, by the given clock', () => {
    const clock = fakeClock(1_800_000_000_900)
    const reset = (decision: Decision) =>
      told([decision], ['legacy'], [], clock)['X-RateLimit-Reset']
    const one = decisionOf(true, [figuresOf(minute, { remaining: 87, resetAfterMs: 41_200 })])
    expect(reset(one)).toBe('1800000043')
    const month = decisionOf(false, [
      figuresOf(minute, { remaining: 0, retryAfterMs: 30 * 24 * HOUR }),
    ])
    expect(reset(month)).toBe('1802592001')
  })

  test('a field that two formats share has the form of the first, and is written once', () => {
    expect(told([allowed], ['draft-8', 'draft-6'])).toMatchObject({
      'RateLimit-Policy': '"minute";q=120;w=60, "day";q=1000;w=86400',
      RateLimit: '"minute";r=87;t=42, "day";r=300;t=7200',
      'RateLimit-Remaining': '300',
    })
    expect(told([allowed], ['draft-7', 'draft-8']).RateLimit).toMatch(/^limit=/)
    expect(
      fieldsOf(ALL)
        .map(({ name }) => asWritten(name))
        .sort(),
    ).toEqual(RATE_LIMIT_HEADERS.filter((name) => name !== 'Retry-After').sort())
  })

  test('a format with one policy shows the one with the longest wait when denied', () => {
    const denied = decisionOf(false, [
      figuresOf(minute, { remaining: 0, retryAfterMs: 30_000, resetAfterMs: 30_000 }),
      figuresOf(day, { remaining: 0, retryAfterMs: HOUR, resetAfterMs: HOUR }),
      figuresOf(fixedWindow({ name: 'tiny', limit: 1_000, window: '1s' }), {
        remaining: 1,
        resetAfterMs: 500,
      }),
    ])
    expect(told([denied], ['legacy-delta'])['X-RateLimit-Reset']).toBe('3600')
  })

  test('the first of equals is shown, a limit of 0 before any other, a policy that refused before all', () => {
    const limitTold = (...decisions: Decision[]) =>
      told(decisions, ['legacy-delta'])['X-RateLimit-Limit']
    const half = (limit: number) =>
      figuresOf(fixedWindow({ name: `half-${limit}`, limit, window: '1m' }), {
        remaining: limit / 2,
      })
    const zero = figuresOf(fixedWindow({ name: 'zero', limit: 0, window: '1m' }), {
      cost: 0,
      remaining: 0,
    })
    const spent = figuresOf(fixedWindow({ name: 'spent', limit: 7, window: '1m' }), {
      remaining: 0,
      retryAfterMs: 9,
    })
    const dear = figuresOf(fixedWindow({ name: 'dear', limit: 9, window: '1m' }), {
      cost: 5,
      remaining: 4,
      retryAfterMs: 5,
    })
    const dearer = figuresOf(fixedWindow({ name: 'dearer', limit: 8, window: '1m' }), {
      cost: 5,
      remaining: 3,
      retryAfterMs: 5,
    })
    expect(limitTold(decisionOf(true, [half(10), half(20)]))).toBe('10')
    expect(limitTold(decisionOf(true, [half(10), zero]))).toBe('0')
    expect(limitTold(decisionOf(true, [spent]), decisionOf(false, [half(10), dear]))).toBe('9')
    expect(limitTold(decisionOf(false, [dear]), decisionOf(true, [spent]))).toBe('9')
    expect(limitTold(decisionOf(false, [dear, dearer]))).toBe('9')
  })

  test('none', () => {
    expect(told([allowed], [])).toEqual({})
  })

  test('nothing is shown for unlimited', () => {
    expect(told([decisionOf(true, [figuresOf(unlimited(), {})])], ALL)).toEqual({})
  })
})

describe('several limiters on one request', () => {
  const one = decisionOf(true, [
    figuresOf(fixedWindow({ name: 'one', limit: 10, window: '1m' }), {
      remaining: 9,
      resetAfterMs: 60_000,
    }),
  ])
  const two = decisionOf(false, [
    figuresOf(fixedWindow({ name: 'two', limit: 5, window: '1s' }), {
      remaining: 0,
      retryAfterMs: 300,
      resetAfterMs: 300,
    }),
  ])
  test('write each field once', () => {
    expect(told([one, two])).toEqual({
      'RateLimit-Policy': '"one";q=10;w=60, "two";q=5;w=1',
      RateLimit: '"one";r=9;t=60, "two";r=0;t=1',
    })
    expect(told([one, two], ['draft-6'])).toMatchObject({
      'RateLimit-Policy': '10;w=60, 5;w=1',
      'RateLimit-Limit': '5',
    })
    expect(told([two, one], ['legacy-delta'])['X-RateLimit-Limit']).toBe('5')
  })

  test('that are the same one show its latest figures', async () => {
    const { send } = limitOn()
    const [request, response] = [{}, new FakeResponse()]
    await send(request, response)
    await send(request, response)
    expect(response.headers.RateLimit).toBe('"fixed-window-2-per-1m";r=0;t=60')
  })

  test('one of which sends no headers do not show it', async () => {
    const [request, response] = [{}, new FakeResponse()]
    await limitOn({ headers: false, limit: 7, window: '1s' }).send(request, response)
    expect(response.headers).toEqual({})
    await limitOn({ headers: 'draft-8', limit: 9, window: '1s' }).send(request, response)
    expect(response.headers['RateLimit-Policy']).toBe('"sliding-window-9-per-1s";q=9;w=1')
  })

  test.each<[HeaderFormat, HeaderFormat, Record<string, string>]>([
    [
      'draft-8',
      'draft-6',
      { 'RateLimit-Policy': '"one";q=10;w=60, "two";q=5;w=1', 'RateLimit-Remaining': '0' },
    ],
    [
      'draft-6',
      'draft-8',
      { 'RateLimit-Policy': '"one";q=10;w=60, "two";q=5;w=1', 'RateLimit-Remaining': '0' },
    ],
    [
      'draft-7',
      'draft-8',
      { 'RateLimit-Policy': '10;w=60, 5;w=1', RateLimit: 'limit=5, remaining=0, reset=1' },
    ],
    [
      'draft-8',
      'draft-7',
      {
        'RateLimit-Policy': '"one";q=10;w=60, "two";q=5;w=1',
        RateLimit: '"one";r=9;t=60, "two";r=0;t=1',
      },
    ],
    [
      'legacy-delta',
      'draft-8',
      { 'X-RateLimit-Remaining': '0', RateLimit: '"one";r=9;t=60, "two";r=0;t=1' },
    ],
    ['legacy-delta', 'legacy', { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1' }],
  ])('%s and then %s mixed two formats or left a stale field', (first, second, expected) => {
    expect(told([one, two], [[first], [second]])).toMatchObject(expected)
  })

  test('hidden policies appear in no field', () => {
    const both = decisionOf(false, [...one.policies, ...two.policies])
    const headers = told([both], ALL, ['two'])
    expect(headers['RateLimit-Policy']).toBe('"one";q=10;w=60')
    expect(headers['X-RateLimit-Limit']).toBe('10')
    expect(told([both], ALL, ['one', 'two'])).toEqual({})
  })
})

describe('a policy without a name', () => {
  const bucket = tokenBucket({ capacity: 5, refill: 1, every: '1s' })
  const window = fixedWindow({ limit: 9, window: '1m' })

  /** The names in the response to a request, which is the second one of its client. */
  async function namesFor(...limiters: Parameters<typeof limitOn>[0][]) {
    const refusals: unknown[] = []
    let shown: Record<string, string> = {}
    const all = limiters.map((options) => limitOn(options))
    for (let i = 0; i < 2; i += 1) {
      const [request, response] = [{}, new FakeResponse()]
      for (const { send } of all) refusals[i] = (await send(request, response))?.content
      shown = response.headers
    }
    const names = parseList(shown.RateLimit ?? '').map(([name]) => name)
    return { names, violated: (refusals[1] as object | undefined)?.['violated-policies' as never] }
  }

  test('has the name of its limiter in fields and bodies, if it is the only one', async () => {
    const one = fixedWindow({ limit: 1, window: '1m' })
    expect(await namesFor({ name: 'api', policy: bucket })).toEqual({ names: ['api'] })
    expect(await namesFor({ name: 'api', policy: [bucket] })).toEqual({ names: ['api'] })
    expect(await namesFor({ name: 'api', policy: () => bucket })).toEqual({ names: ['api'] })
    const refused = { names: ['api'], violated: ['api'] }
    expect(await namesFor({ name: 'api', policy: one })).toEqual(refused)
    expect(await namesFor({ name: 'api', policy: one, headers: false })).toEqual({
      ...refused,
      names: [],
    })
  })

  test('beside a policy of that name in another limiter, also has that of its limiter', async () => {
    const named = fixedWindow({ name: 'api', limit: 1, window: '1m' })
    expect(await namesFor({ name: 'all', policy: named }, { name: 'api', policy: bucket })).toEqual(
      { names: ['api', 'api.api'] },
    )
  })

  test('is called by its algorithm beside others of its limiter, and in one without a name', async () => {
    const names = ['token-bucket-5s', 'fixed-window-1m']
    expect(await namesFor({ name: 'api', policy: [bucket, window] })).toEqual({ names })
    expect(await namesFor({ policy: bucket })).toEqual({ names: ['token-bucket-5-per-5s'] })
  })

  test('is not one to which the user gave the very name that it would have', async () => {
    const named = tokenBucket({ name: 'token-bucket-5s', capacity: 5, refill: 1, every: '1s' })
    expect(await namesFor({ name: 'api', policy: named })).toEqual({ names: ['token-bucket-5s'] })
  })

  test('keeps its name in decisions, and so its counter', async () => {
    const request: FakeRequest = {}
    await limitOn({ name: 'api', policy: bucket }).send(request)
    expect(request.rateLimit?.policy.name).toBe('token-bucket-5s')
  })
})

describe('openai', () => {
  const requests = slidingWindow({ name: 'requests', limit: 60, window: '1m' })
  const tokens = slidingWindow({ name: 'tokens', limit: 10_000, window: '1m' })
  const money = fixedWindow({ name: 'money', limit: 5_000, window: '1d' })
  const all = [
    figuresOf(requests, { remaining: 59, resetAfterMs: 60_000 }),
    figuresOf(tokens, { remaining: 9_497, resetAfterMs: 120.5 }),
    figuresOf(money, { remaining: 4_000, resetAfterMs: HOUR }),
  ]
  const ofTokens = {
    'X-RateLimit-Limit-Tokens': '10000',
    'X-RateLimit-Remaining-Tokens': '9497',
    'X-RateLimit-Reset-Tokens': '121ms',
  }

  test('shows policies named requests and tokens, and no others', () => {
    expect(told([decisionOf(true, all)], ['openai'])).toEqual({
      'X-RateLimit-Limit-Requests': '60',
      'X-RateLimit-Remaining-Requests': '59',
      'X-RateLimit-Reset-Requests': '1m0s',
      ...ofTokens,
    })
    expect(told([decisionOf(true, all.slice(1))], ['openai'])).toEqual(ofTokens)
    expect(told([decisionOf(true, all)], ['openai'], ['requests'])).toEqual(ofTokens)
    expect(told([decisionOf(true, all.slice(2))], ['openai'])).toEqual({})
  })

  test('shows the binding one of several limiters with a policy of that name', () => {
    const own = slidingWindow({ name: 'tokens', limit: 500, window: '1h' })
    const second = [figuresOf(own, { remaining: 0, retryAfterMs: 9, resetAfterMs: 2 * HOUR })]
    expect(told([decisionOf(true, all), decisionOf(false, second)], ['openai'])).toMatchObject({
      'X-RateLimit-Limit-Requests': '60',
      'X-RateLimit-Limit-Tokens': '500',
      'X-RateLimit-Remaining-Tokens': '0',
      'X-RateLimit-Reset-Tokens': '2h0m0s',
    })
  })

  test.each([
    [0, '0ms'],
    [0.2, '1ms'],
    [120, '120ms'],
    [999.5, '1s'],
    [1_000, '1s'],
    [8_001, '9s'],
    [59_001, '1m0s'],
    [360_000, '6m0s'],
    [3_599_999, '1h0m0s'],
    [5_025_000, '1h23m45s'],
    [31 * 24 * HOUR, '744h0m0s'],
    [Number.POSITIVE_INFINITY, undefined],
  ])('writes %s ms as Go writes durations: %s', (resetAfterMs, text) => {
    const decision = decisionOf(true, [figuresOf(requests, { remaining: 1, resetAfterMs })])
    expect(told([decision], ['openai'])['X-RateLimit-Reset-Requests']).toBe(text)
  })
})

describe('a quota for a calendar month', () => {
  const clock = fakeClock(Date.UTC(2026, 1, 3, 12))
  const policy = fixedWindow({ name: 'monthly', limit: 2, window: 'month' })
  const limiter = new RateLimiter({ name: 'm', store: memoryStore({ clock }), policy })
  const rest = 25.5 * 86_400

  test('has the length of the present month, and its end', async () => {
    const allowed = await limiter.consume('k')
    expect(told([allowed])).toMatchObject({
      'RateLimit-Policy': `"monthly";q=2;w=${28 * 86_400}`,
      RateLimit: `"monthly";r=1;t=${rest}`,
    })
    clock.set(Date.UTC(2026, 3, 1))
    expect(told([await limiter.consume('k')])).toMatchObject({
      'RateLimit-Policy': `"monthly";q=2;w=${30 * 86_400}`,
      RateLimit: `"monthly";r=1;t=${30 * 86_400}`,
    })
  })
})

describe('Retry-After', () => {
  test.each([
    [1, 1],
    [0, 1],
    [1_000, 1],
    [1_001, 2],
    [640_000, 640],
    [30 * 24 * HOUR, 2_592_000],
    [Number.MAX_SAFE_INTEGER, 9_007_199_254_741],
  ])('of %d ms is %d s', (ms, seconds) => {
    expect(retryAfterSeconds(ms)).toBe(seconds)
  })

  test('is absent if waiting cannot help', () => {
    expect(retryAfterSeconds(Number.POSITIVE_INFINITY)).toBeUndefined()
  })

  test('redis-cell #56, flask-limiter #62: is never early, never below 1, always whole', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e15, noNaN: true }), (ms) => {
        const seconds = retryAfterSeconds(ms) as number
        expect(Number.isInteger(seconds)).toBe(true)
        expect(seconds).toBeGreaterThanOrEqual(1)
        expect(seconds * 1_000).toBeGreaterThanOrEqual(ms)
      }),
    )
  })
})

describe('every field parses', () => {
  const name = fc.oneof(
    fc.constantFrom('requests', 'tokens'),
    fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/),
  )
  const policy = fc.oneof(
    fc
      .record({
        name,
        limit: fc.nat({ max: 1_000_000 }),
        window: fc.integer({ min: 1, max: 86_400_000 }),
      })
      .map(fixedWindow),
    fc
      .record({
        name,
        limit: fc.nat({ max: 100_000 }),
        window: fc.integer({ min: 1, max: 86_400_000 }),
      })
      .map(slidingLog),
    fc
      .record({
        name,
        capacity: fc.nat({ max: 1_000_000 }),
        refill: fc.integer({ min: 1, max: 100 }),
        every: fc.integer({ min: 1_000, max: 60_000 }),
      })
      .map(tokenBucket),
  )
  const wait = fc.oneof(
    fc.constant(Number.POSITIVE_INFINITY),
    fc.double({ min: 0, max: 1e14, noNaN: true }),
  )
  const figures = fc
    .record({
      policy,
      remaining: fc.integer({ min: -5, max: 2 ** 52 }),
      cost: fc.nat({ max: 100 }),
      retryAfterMs: wait,
      resetAfterMs: fc.nat(),
    })
    .map((drawn) => figuresOf(drawn.policy, drawn))
  const decision = fc
    .tuple(
      fc.boolean(),
      fc.uniqueArray(figures, { minLength: 1, maxLength: 5, selector: (one) => one.policy.name }),
    )
    .map(([allowed, all]) => decisionOf(allowed, all))

  const wholeParameters = (parameters: Map<string, unknown>) => {
    for (const value of parameters.values())
      expect(Number.isInteger(value) && (value as number) >= 0).toBe(true)
  }

  const limiters = fc.array(fc.tuple(decision, fc.uniqueArray(fc.constantFrom(...ALL))), {
    minLength: 1,
    maxLength: 4,
  })

  test('with fuzzed names, numbers, policies, and limiters of mixed formats; and no field is left from before', () => {
    fc.assert(
      fc.property(limiters, (drawn) => {
        const headers = told(
          drawn.map(([one]) => one),
          drawn.map(([, formats]) => formats),
        )
        // What is shown: the policies of limiters with headers, in all formats that any of them
        // has.
        const shown = drawn.filter(([, formats]) => formats.length > 0)
        const formats = shown.flatMap(([, own]) => own)
        const [form] = formats.filter((format) => format === 'draft-8' || format === 'draft-7')
        const named = shown.flatMap(([{ policies }]) => policies.map(({ policy }) => policy.name))
        const absent = ['requests', 'tokens'].filter((name) => !named.includes(name))
        expect(
          Object.keys(headers)
            .filter((name) => !name.endsWith('Reset'))
            .sort(),
        ).toEqual(
          fieldsOf(formats)
            .filter(({ name }) => !absent.some((each) => name.endsWith(each)))
            .map(({ name }) => asWritten(name))
            .filter((name) => !name.endsWith('Reset'))
            .sort(),
        )
        const policies =
          headers['RateLimit-Policy'] === undefined
            ? 0
            : parseList(headers['RateLimit-Policy']).length
        const binding = new Set(
          ['X-RateLimit-Limit', 'RateLimit-Limit'].flatMap((name) => headers[name] ?? []),
        )
        expect(binding.size).toBeLessThanOrEqual(1)
        for (const [name, value] of Object.entries(headers)) {
          if (name === 'RateLimit-Policy' || (name === 'RateLimit' && form === 'draft-8')) {
            const items = parseList(value)
            expect(items).toHaveLength(policies)
            for (const [item, parameters] of items) {
              expect(typeof item).toBe(form === 'draft-8' ? 'string' : 'number')
              wholeParameters(parameters)
            }
            if (form === 'draft-8') {
              const names = items.map(([item]) => item)
              expect(new Set(names).size).toBe(names.length)
            }
          } else if (name === 'RateLimit') {
            const dictionary = parseDictionary(value)
            expect([...binding, ...binding].slice(0, 1)).toEqual(
              binding.size > 0 ? [String(dictionary.get('limit')?.[0])] : [],
            )
            for (const [key, [item]] of dictionary) {
              expect(['limit', 'remaining', 'reset']).toContain(key)
              expect(Number.isInteger(item)).toBe(true)
            }
          } else if (/Reset-\w+$/.test(name)) {
            expect(value).toMatch(/^(\d{1,3}ms|(\d{1,3}h)?(\d\d?m)?\d\d?s)$/)
          } else {
            const [item] = parseItem(value)
            expect(Number.isInteger(item)).toBe(true)
          }
        }
      }),
      { numRuns: stepsOf(100, 5_000) },
    )
  })

  test('express-rate-limit 8.7.4 did not escape names: any text as a name is refused, or read back as it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 70 }), (text) => {
        let made: Policy
        try {
          made = fixedWindow({ name: text, limit: 1, window: '1m' })
        } catch (error) {
          expect(error).toMatchObject({ code: 'WEIR_INVALID_NAME' })
          return
        }
        const headers = told([decisionOf(true, [figuresOf(made, {})])])
        for (const field of ['RateLimit', 'RateLimit-Policy']) {
          expect(parseList(headers[field] as string)[0]?.[0]).toBe(text)
        }
      }),
      { numRuns: stepsOf(200, 10_000) },
    )
  })

  test('a name that no factory has checked is still quoted', () => {
    const unchecked = forged(fixedWindow({ limit: 1, window: '1m' }), { name: 'bu"r\\st' })
    const headers = told([decisionOf(true, [figuresOf(unchecked, {})])])
    expect(parseList(headers.RateLimit as string)[0]?.[0]).toBe('bu"r\\st')
  })
})
