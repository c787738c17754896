// The class of a request over HTTP: a string, or the result of a function of the request.

import { describe, expect, test } from 'vitest'
import type { LimitOptions } from '../../src/http/index.js'
import { fixedWindow, memoryStore } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { catchWarnings } from '../warnings.js'
import { type FakeRequest, FakeResponse, limitOn } from './exchange.js'

const warnings = catchWarnings()

const policy = fixedWindow({ name: 'p', limit: 10, window: '1m' })
const reserve = { normal: 0.2, batch: 0.5 }
/** Warnings are given once for each name. */
let names = 0
function nameOf(): string {
  names += 1
  return `classes-${names}`
}

async function passed(options: Partial<LimitOptions<FakeRequest>>, users: readonly string[]) {
  const { send } = limitOn({ name: nameOf(), policy, reserve, ...options } as typeof options)
  const count = new Map<string, number>()
  for (const user of users) {
    if ((await send({ user })) === undefined) count.set(user, (count.get(user) ?? 0) + 1)
  }
  return Object.fromEntries(count)
}

const many = (user: string): string[] => Array(20).fill(user)
const everybody = [...many('batch'), ...many('normal'), ...many('critical')]

describe('a function', () => {
  const priority = ({ user }: FakeRequest) => user as string

  test.each<[string, Partial<LimitOptions<FakeRequest>>]>([
    ['alone', {}],
    ['that is asynchronous', { priority: async (request) => priority(request) }],
    ['beside a cost', { cost: () => 1 }],
    ['beside a policy', { policy: () => policy }],
    ['beside a wait', { wait: 1 }],
  ])('%s gives the class of each request', async (_, options) => {
    expect(await passed({ priority, ...options }, everybody)).toEqual({
      batch: 5,
      normal: 3,
      critical: 2,
    })
    expect(warnings.all).toEqual([])
  })

  test('that answers synchronously keeps the request in its turn', () => {
    const { sendNow } = limitOn({ name: nameOf(), policy, reserve, priority })
    expect(sendNow({ user: 'batch' })).toBeUndefined()
  })

  test.each([
    ['another name', 'bacth'],
    ['nothing', undefined],
    ['null', null],
    ['a number', 1],
    ['a name of all objects', 'constructor'],
    ['what a client sent', 'x'.repeat(10_000)],
  ])(
    'that gives %s is warned of once, and the request is of the lowest class',
    async (_, wrong) => {
      const options = { priority: () => wrong as never }
      expect(await passed(options, many('anybody'))).toEqual({ anybody: 5 })
      expect(warnings.codes).toEqual(['WEIR_UNKNOWN_PRIORITY'])
      const [text] = warnings.texts as [string]
      expect(text).toMatch(
        /^priority of limiter "classes-\d+" gave .*; such requests are "batch" \(see /,
      )
      expect(text.length).toBeLessThan(200)
    },
  )

  test.each([
    [
      'throws',
      () => {
        throw new Error('no user')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no user'))],
  ])(
    'that %s fails the request as other functions do, and nothing is charged',
    async (_, broken) => {
      const { send, limiter } = limitOn({ name: nameOf(), policy, reserve, priority: broken })
      await expect(send()).rejects.toThrow('no user')
      expect((await limiter.peek('192.0.2.1', { policy })).remaining).toBe(10)
      const shadow = limitOn({ name: nameOf(), policy, reserve, priority: broken, shadow: true })
      expect(await shadow.send()).toBeUndefined()
      expect(warnings.codes).toEqual(['WEIR_SHADOW_FAILED'])
    },
  )
})

test('a string is the class of all of the limiter’s requests, and others share the limit', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const shared = { name: nameOf(), policy, reserve, store }
  const reports = limitOn({ ...shared, priority: 'batch' })
  const checkout = limitOn({ ...shared, priority: 'critical' })
  const count = async ({ send }: typeof reports) => {
    let sum = 0
    for (let i = 0; i < 20; i += 1) if ((await send()) === undefined) sum += 1
    return sum
  }
  expect([await count(reports), await count(checkout)]).toEqual([5, 5])
})

test('the response and the request show what is left to the class', async () => {
  const { send } = limitOn({ name: nameOf(), policy, reserve, priority: 'batch' })
  const request: FakeRequest = {}
  const response = new FakeResponse()
  for (let i = 0; i < 2; i += 1) await send(request, response)
  expect(response.headers.RateLimit).toBe('"p";r=3;t=60')
  expect(response.headers['RateLimit-Policy']).toBe('"p";q=10;w=60')
  expect(request.rateLimit).toMatchObject({ priority: 'batch', remaining: 3 })
  for (let i = 0; i < 3; i += 1) await send()
  const denied = new FakeResponse()
  expect(await send({}, denied)).toMatchObject({ status: 429, retryAfterMs: 60_000 })
  expect(denied.headers.RateLimit).toBe('"p";r=0;t=60')
})

test.each([
  [{ priority: 'bacth', reserve }, 'WEIR_INVALID_PRIORITY'],
  [{ priority: 5, reserve }, 'WEIR_INVALID_PRIORITY'],
  [{ priority: null, reserve }, 'WEIR_INVALID_PRIORITY'],
  [{ priority: 'batch' }, 'WEIR_INVALID_OPTION'],
  [{ priority: () => 'batch' }, 'WEIR_INVALID_OPTION'],
  [{ priority: 'batch', reserve: { batch: 2 } }, 'WEIR_INVALID_OPTION'],
  [{ reserve: [0.5] }, 'WEIR_INVALID_OPTION'],
])('%j is refused when the limiter is made: %s', (wrong, code) => {
  const options = { policy, ...wrong } as Partial<LimitOptions<FakeRequest>>
  expect(() => limitOn(options)).toThrow(expect.objectContaining({ code }))
})
