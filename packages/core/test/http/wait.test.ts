// Requests that wait for their turn: the handling of policies, costs and closed limiters.

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { LimitOptions } from '../../src/http/index.js'
import {
  fixedWindow,
  leakyBucket,
  memoryStore,
  type PolicyInput,
  type RateLimiter,
  slidingLog,
  tokenBucket,
  unlimited,
} from '../../src/index.js'
import { catchWarnings } from '../warnings.js'
import { type FakeRequest, FakeResponse, limitOn } from './exchange.js'

const warnings = catchWarnings()

/** 100 ms for one request; by default the queue is no longer than that. */
const queue = { capacity: 1, leak: 10, every: '1s' } as const

describe('a bucket that decides alone', () => {
  test.each<[string, PolicyInput, LimitOptions<FakeRequest>['wait'], string, number]>([
    [
      'reserves turns as far ahead as requests wait',
      leakyBucket(queue),
      '2s',
      '100ms-wait-2s',
      2_000,
    ],
    ['as the only one of several', [leakyBucket(queue)], '2s', '100ms-wait-2s', 2_000],
    [
      'with a key of its own',
      [{ policy: leakyBucket(queue), key: 'all' }],
      '2s',
      '100ms-wait-2s',
      2_000,
    ],
    [
      'keeps its counter where that is no longer than it did',
      leakyBucket(queue),
      '100ms',
      '100ms',
      100,
    ],
    [
      'keeps a maxWait of its own',
      leakyBucket({ ...queue, maxWait: '1s' }),
      '2s',
      '100ms-wait-1s',
      1_000,
    ],
    ['keeps its counter where nobody waits', leakyBucket(queue), 0, '100ms', 100],
  ])('%s', async (_, policy, wait, timeScale, maxWaitMs) => {
    const request: FakeRequest = {}
    await limitOn({ name: 'l', policy, wait }).send(request)
    expect(request.rateLimit?.policy).toMatchObject({ timeScale, maxWaitMs })
    expect(request.rateLimit?.policy.name).toMatch(/^leaky-bucket-100ms(-wait-1s)?$/)
  })

  test('is the one that a factory makes with this maxWait', async () => {
    const request: FakeRequest = {}
    await limitOn({ policy: leakyBucket({ ...queue, name: 'p' }), wait: '2s' }).send(request)
    const made = leakyBucket({ ...queue, name: 'p', maxWait: '2s' })
    expect(request.rateLimit?.policy).toEqual(made)
    expect(request.rateLimit?.policy.signature).toBe(made.signature)
  })

  test('reserves no further than a bucket can', async () => {
    const request: FakeRequest = {}
    await limitOn({ policy: leakyBucket(queue), wait: '3650d' }).send(request)
    expect(request.rateLimit?.policy.maxWaitMs).toBe(1_826 * 86_400_000)
  })
})

test.each<[string, PolicyInput]>([
  ['windows', fixedWindow({ limit: 5, window: '1s' })],
  ['several policies', [tokenBucket({ capacity: 5, refill: 5, every: '1s' }), unlimited()]],
])('%s stay as they are', async (_, policy) => {
  const request: FakeRequest = {}
  await limitOn({ policy, wait: '2s' }).send(request)
  expect(request.rateLimit?.policy.timeScale).toBe('1s')
})

test('a policy that the request chooses says itself how far ahead it reserves', async () => {
  const { send, clock } = limitOn({ policy: () => leakyBucket(queue), wait: '1h' })
  await send()
  const waiting = send()
  expect(await send()).toMatchObject({ status: 429 })
  clock.advance(100)
  expect(await waiting).toBeUndefined()
})

test('a request that waits for several limiters is delayed by all of them', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const store = memoryStore()
  const request: FakeRequest = {}
  for (const name of ['a', 'b']) {
    const { send } = limitOn({ name, store, policy: leakyBucket(queue), wait: '1s' })
    await send({})
    const waiting = send(request)
    await vi.advanceTimersByTimeAsync(100)
    await waiting
  }
  const { all, waitedMs } = request.rateLimit ?? { all: [] }
  expect(all.map((one) => (one as { waitedMs?: number }).waitedMs)).toEqual([100, 100])
  expect(waitedMs).toBe(200)
})

describe('a closed limiter', () => {
  const policy = leakyBucket({ capacity: 1, leak: 1, every: '1h' })

  test('refuses waiting requests, and new ones that would wait: they can go to another process', async () => {
    const { send, limiter } = limitOn({ policy, wait: '2h' })
    await send()
    const response = new FakeResponse()
    const waiting = send({}, response)
    limiter.close()
    expect(await waiting).toMatchObject({ status: 503, decision: undefined })
    expect(response.headers).toMatchObject({ 'Retry-After': '1', 'Cache-Control': 'no-store' })
    expect(await send()).toMatchObject({ status: 503 })
  })

  test('goes on to decide requests that do not wait', async () => {
    const { send, limiter } = limitOn({ policy })
    limiter.close()
    expect([await send(), (await send())?.status]).toEqual([undefined, 429])
  })
})

test('a client that has left is refused without a decision, and nothing stays reserved', async () => {
  const policy = leakyBucket({ name: 'p', capacity: 1, leak: 1, every: '1h' })
  const { send, limiter } = limitOn({ policy, wait: '2h' })
  await send()
  const response = new FakeResponse()
  const request: FakeRequest = {}
  const waiting = send(request, response)
  const resetMs = async () => (await limiter.peek('192.0.2.1')).resetAfterMs
  expect(await resetMs()).toBe(7_200_000)
  await response.end(200, false)
  expect(await waiting).toMatchObject({ status: 499 })
  expect(request.rateLimit).toBeUndefined()
  expect(response.headers['Retry-After']).toBeUndefined()
  expect(await resetMs()).toBe(3_600_000)
})

test('maxWaiting bounds how many may wait', async () => {
  const policy = leakyBucket({ capacity: 1, leak: 1, every: '1h' })
  const { send, limiter } = limitOn({ policy, wait: '5h', maxWaiting: { perKey: 1 } })
  await send()
  const waiting = send()
  expect(await send()).toMatchObject({ status: 429 })
  limiter.close()
  await waiting
})

test.each<unknown>(['soon', -1, 1.5, Number.NaN, null, true, '0s'])(
  'wait: %o is refused',
  (wait) => {
    const options = { wait } as unknown as Partial<LimitOptions<FakeRequest>>
    expect(() => limitOn(options)).toThrow(
      expect.objectContaining({ code: 'WEIR_INVALID_DURATION' }),
    )
  },
)

describe('costs by the names of policies', () => {
  const policy = [
    slidingLog({ name: 'requests', limit: 10, window: '1h' }),
    slidingLog({ name: 'tokens', limit: 1_000, window: '1h' }),
  ]

  async function left(limiter: RateLimiter): Promise<number[]> {
    const { policies } = await limiter.peek('192.0.2.1')
    return policies.map(({ remaining }) => remaining)
  }

  test.each<[string, LimitOptions<FakeRequest>['cost'], number[]]>([
    ['fixed', { tokens: 200 }, [9, 800]],
    ['of the request', () => ({ requests: 2, tokens: 200 }), [8, 800]],
    ['later', async () => ({ tokens: 0 }), [9, 1_000]],
  ])('%s', async (_, cost, remaining) => {
    const { send, limiter } = limitOn({ policy, cost })
    expect(await send()).toBeUndefined()
    expect(await left(limiter)).toEqual(remaining)
  })

  test.each<unknown>([
    { tokens: -1 },
    { tokens: '5' },
    { tokens: Number.NaN },
    { words: 1 },
    { toString: 1 },
    {},
    [],
    null,
  ])(
    'a cost of %o for a request is charged as 1 and gets 400; as an option it is refused',
    async (cost) => {
      const { send, limiter } = limitOn({ policy, cost: () => cost as number })
      expect(await send()).toMatchObject({ status: 400 })
      expect(await left(limiter)).toEqual([9, 999])
      expect(() => limitOn({ policy, cost: cost as number })).toThrow(
        expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }),
      )
    },
  )

  test('nobody waits for the refusal of an invalid cost', async () => {
    const one = slidingLog({ name: 'one', limit: 1, window: '1h' })
    const { send } = limitOn({ policy: one, cost: () => -1, wait: '2h' })
    expect([(await send())?.status, (await send())?.status]).toEqual([400, 429])
  })

  test('a refund leaves nothing to settle', async () => {
    const settle = vi.fn(() => ({ tokens: 1 }))
    const cost = { tokens: 200 }
    const refundWhen = (_: FakeRequest, { status }: { status: number }) => status >= 500
    const { send, limiter } = limitOn({ policy, cost, refundWhen, settle })
    for (const status of [500, 200]) {
      const response = new FakeResponse()
      await send({}, response)
      await response.end(status)
    }
    expect(settle).toHaveBeenCalledTimes(1)
    expect(await left(limiter)).toEqual([9, 999])
  })

  test('the function that settles is called once, not for refused requests, and may throw', async () => {
    const settle = vi.fn((): never => {
      throw new Error('no usage')
    })
    const { send, limiter } = limitOn({ name: 'throwing', policy, cost: { tokens: 600 }, settle })
    const responses = [new FakeResponse(), new FakeResponse()]
    for (const response of responses) {
      await send({}, response)
      await response.end()
      await response.end()
    }
    expect(settle).toHaveBeenCalledTimes(1)
    expect(warnings.codes).toEqual(['WEIR_SETTLE_FAILED'])
    expect(await left(limiter)).toEqual([9, 400])
  })
})
