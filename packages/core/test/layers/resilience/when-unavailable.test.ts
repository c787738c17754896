// Decisions without the store, by the option `whenUnavailable` of their policies.

import { expect, test } from 'vitest'
import { StoreError } from '../../../src/base/errors.js'
import { RateLimiter, slidingLog } from '../../../src/index.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import { ALONE } from '../../../src/layers/resilience/peers.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import { makePolicySet } from '../../../src/request.js'
import type { Mode, WhenUnavailable } from '../../../src/store.js'
import { fakeClock } from '../../../src/testing/index.js'
import { virtualTime } from '../../virtual-time.js'
import { onTarget } from '../requests.js'

const one = slidingLog({ name: 'one', limit: 5, window: '1m' })
const two = slidingLog({ name: 'two', limit: 3, window: '1m' })
const away = new StoreError('WEIR_STORE_FAILED', 'away')

type Each = readonly (WhenUnavailable | undefined)[]

function targetOf(each: Each) {
  return { policySet: makePolicySet('p', [one, two], each), key: 'k' }
}

function decide(each: Each, mode: Mode = 'consume', whenUnavailable: WhenUnavailable = 'local') {
  const time = virtualTime()
  const peers = () => ALONE
  const fallback = new Fallback({
    clock: fakeClock(),
    peers,
    time,
    whenUnavailable,
    maxLocalKeys: 1_000,
  })
  const request = onTarget(targetOf(each), mode)
  const result = fallback.decide(request, undefined, away, 299.5)
  const left = result.policies.map(({ remaining }) => remaining)
  const owed = fallback.ledger.owedBy(request.target)
  const counted = owed.map(({ units, target: { policySet } }) => {
    return [policySet.policies[0]?.name, units]
  })
  return { ...result, left, counted }
}

test('local policies are counted, and others beside them are not', () => {
  expect(decide(['allow', 'local'])).toMatchObject({ left: [5, 2], counted: [['two', 1]] })
  expect(decide(['local', 'local'])).toMatchObject({
    left: [4, 2],
    counted: [
      ['one', 1],
      ['two', 1],
    ],
  })
})

test('local policies are judged by what was seen of them, not of others beside them', () => {
  const time = virtualTime()
  const options = {
    peers: () => ALONE,
    time,
    whenUnavailable: 'local',
    maxLocalKeys: 1_000,
  } as const
  const fallback = new Fallback({ ...options, clock: time })
  const untilUs = [0, 60_000_000].map((us) => time.nowUs() + us)
  const seen = { nowUs: time.nowUs(), remaining: [0, 1], untilUs }
  const request = onTarget(targetOf(['allow', 'local']), 'consume')
  expect([0, 1].map(() => fallback.decide(request, seen, away, 1_000).granted)).toEqual([1, 0])
})

test('policies without the option do as the store says', () => {
  expect(decide([undefined, undefined]).left).toEqual([4, 2])
  expect(decide([undefined, undefined], 'consume', 'deny')).toMatchObject({ granted: 0 })
  expect(decide([undefined, 'allow'], 'consume', 'allow')).toMatchObject({
    left: [5, 3],
    counted: [],
  })
  expect(() => decide([undefined, 'allow'], 'consume', 'throw')).toThrow(away)
})

test('one that should deny denies for all, and says when to ask again', () => {
  const denied = { granted: 0, unavailableMs: 300, degraded: true, source: 'local' }
  expect(decide(['local', 'deny'])).toMatchObject(denied)
  expect(decide(['local', 'deny'], 'peek')).toMatchObject(denied)
  expect(decide(['allow', 'deny'])).toMatchObject(denied)
})

test.each(['refund', 'penalty'] as const)('but a %s is not refused, and counts', (mode) => {
  const result = decide(['local', 'deny'], mode)
  expect(result).toMatchObject({ granted: 1, left: mode === 'refund' ? [5, 3] : [4, 2] })
  expect(result.unavailableMs).toBeUndefined()
})

test('one that should allow is left out', () => {
  expect(decide(['allow', 'local'])).toMatchObject({
    granted: 1,
    policies: [
      { remaining: 5, policy: one },
      { remaining: 2, policy: two },
    ],
  })
  expect(decide(['allow', 'allow'])).toMatchObject({ granted: 1, degraded: true, source: 'local' })
})

test('one that should throw throws the cause', () => {
  expect(() => decide(['local', 'throw'])).toThrow(away)
})

test('while a breaker is open, each thrown error is a new one, and other causes share one', async () => {
  const down = {
    decide() {
      throw new Error('ECONNREFUSED')
    },
    reset() {},
  }
  async function causesOf(whenUnavailable: WhenUnavailable) {
    const store = resilientIn(virtualTime(), down, { whenUnavailable })
    const told: unknown[] = []
    store.on('fallback', ({ cause }) => told.push(cause))
    const limiter = new RateLimiter({ name: 'causes', store, policy: one })
    for (let i = 0; i < 20; i += 1) await limiter.consume('k').catch(() => {})
    expect(store.health().nodes[0]?.state).toBe('open')
    const ask = (): Promise<unknown> =>
      limiter.consume('k').then(
        () => undefined,
        (error) => error,
      )
    const thrown = [await ask(), await ask()]
    await store.close()
    return { thrown, told: told.slice(-2) }
  }
  const local = await causesOf('local')
  expect(local.told[0]).toMatchObject({ code: 'WEIR_STORE_FAILED' })
  expect(local.told[1]).toBe(local.told[0])
  const { thrown } = await causesOf('throw')
  expect(thrown[0]).toMatchObject({
    code: 'WEIR_STORE_FAILED',
    message: expect.stringContaining('circuit breaker is open after "ECONNREFUSED"'),
  })
  expect(thrown[1]).not.toBe(thrown[0])
})
