// Refunding the cost after the response: exactly once or not at all, whatever happens to the
// connection.

import { expect, test, vi } from 'vitest'
import type { ResponseOutcome } from '../../../src/http/index.js'
import { budget, type Cost, fixedWindow, memoryStore, type Store } from '../../../src/index.js'
import { fakeClock } from '../../../src/testing/index.js'
import { catchWarnings } from '../../warnings.js'
import { type FakeRequest, FakeResponse, limitOn } from '../exchange.js'

const policy = fixedWindow({ name: 'p', limit: 10, window: '1m' })

const warnings = catchWarnings()

test.each<
  [
    string,
    (request: FakeRequest, outcome: ResponseOutcome) => boolean | PromiseLike<boolean>,
    number,
    boolean,
    number,
  ]
>([
  ['true: the cost is back', () => true, 200, true, 10],
  ['false: it stays charged', () => false, 200, true, 7],
  ['true later: the cost is back', async () => true, 200, true, 10],
  ['by status: failed', (_, { status }) => status >= 500, 503, true, 10],
  ['by status: not failed', (_, { status }) => status >= 500, 404, true, 7],
  ['by request', ({ user }) => user === 'ann', 200, true, 10],
  ['by the end: cut off', (_, { finished }) => !finished, 200, false, 10],
  ['by the end: sent whole', (_, { finished }) => !finished, 200, true, 7],
])('%s', async (_, refundWhen, status, finished, left) => {
  const { send, limiter } = limitOn({ policy, cost: 3, refundWhen })
  const response = new FakeResponse()
  await send({ user: 'ann' }, response)
  expect((await limiter.peek('192.0.2.1')).remaining).toBe(7)
  await response.end(status, finished)
  expect((await limiter.peek('192.0.2.1')).remaining).toBe(left)
})

test('never twice, not even with an adapter that calls back twice', async () => {
  const { send, limiter } = limitOn({ policy, refundWhen: () => true })
  await send()
  const response = new FakeResponse()
  await send({}, response)
  const [done] = response.endings
  for (let i = 0; i < 3; i += 1) done?.({ status: 200, finished: true })
  await response.end()
  expect((await limiter.peek('192.0.2.1')).remaining).toBe(9)
})

test("express-rate-limit: a late decrement hit the next window. Weir's changes nothing", async () => {
  const { send, limiter, clock } = limitOn({ policy, cost: 5, refundWhen: () => true })
  const response = new FakeResponse()
  await send({}, response)
  clock.advance('1m')
  await send()
  await response.end()
  expect((await limiter.peek('192.0.2.1')).remaining).toBe(5)
})

test('refused and skipped requests have nothing to refund', async () => {
  const refundWhen = vi.fn(() => true)
  const { send } = limitOn({
    policy: fixedWindow({ limit: 0, window: '1m' }),
    skip: ({ user }) => user === 'ann',
    refundWhen,
  })
  const responses = [new FakeResponse(), new FakeResponse()] as const
  await send({}, responses[0])
  await send({ user: 'ann' }, responses[1])
  for (const response of responses) await response.end()
  expect(refundWhen).not.toHaveBeenCalled()
})

test('CVE-2026-26330 (Envoy): a store that fails between decision and refund causes a warning, not a crash', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const flaky: Store = {
    decide: (group) => {
      if (group.mode === 'refund') return Promise.reject(new Error('gone'))
      return store.decide(group)
    },
    reset: (subject) => store.reset(subject),
  }
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  for (let i = 0; i < 2; i += 1) {
    const response = new FakeResponse()
    await limitOn({ name: 'flaky', policy, store: flaky, refundWhen: () => true }).send(
      {},
      response,
    )
    await response.end()
  }
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
  expect(warnings.codes).toEqual(['WEIR_REFUND_FAILED'])
})

test.each([
  [
    'throws',
    () => {
      throw new Error('bug')
    },
  ],
  [
    'rejects',
    async () => {
      throw new Error('bug')
    },
  ],
])(
  'a refundWhen that %s causes a warning, and the cost stays charged',
  async (name, refundWhen: () => boolean | Promise<boolean>) => {
    const { send, limiter } = limitOn({ name, policy, refundWhen })
    const response = new FakeResponse()
    await send({}, response)
    await response.end()
    expect((await limiter.peek('192.0.2.1')).remaining).toBe(9)
    expect(warnings.codes).toEqual(['WEIR_REFUND_FAILED'])
  },
)

test.each<[string, () => Cost | undefined | Promise<Cost | undefined>, number]>([
  ['returns undefined', () => undefined, 6],
  ['rejects', () => Promise.reject(new Error('bug')), 6],
  ['returns no valid cost', () => Number.NaN, 6],
  ['returns a cost', async () => 9, 1],
])('where settle %s, the estimate of a budget does not come back', async (_, settle, left) => {
  const run = budget({ name: 'run', limit: 10, holdTimeout: '1m' })
  const { send, limiter, clock } = limitOn({ policy: [run, policy], cost: 4, settle })
  const response = new FakeResponse()
  await send({}, response)
  // The client leaves before its work has ended.
  await response.end(200, false)
  clock.advance('1h')
  expect((await limiter.peek('192.0.2.1')).policies[0]?.remaining).toBe(left)
})

test('nor where a refundWhen throws before settle returns undefined', async () => {
  const run = budget({ name: 'run', limit: 10, holdTimeout: '1m' })
  const refundWhen = () => {
    throw new Error('bug')
  }
  const settle = () => undefined
  const options = { name: 'both', policy: [run, policy], cost: 4, refundWhen, settle }
  const { send, limiter, clock } = limitOn(options)
  const response = new FakeResponse()
  await send({}, response)
  await response.end()
  clock.advance('1h')
  expect((await limiter.peek('192.0.2.1')).policies[0]?.remaining).toBe(6)
  expect(warnings.codes).toEqual(['WEIR_REFUND_FAILED'])
})
