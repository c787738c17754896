// What a decision is without the store, by what its policies are to do then.

import { expect, test } from 'vitest'
import { StoreError } from '../../../src/base/errors.js'
import { slidingLog } from '../../../src/index.js'
import { Fallback } from '../../../src/layers/resilience/fallback.js'
import { ALONE } from '../../../src/layers/resilience/peers.js'
import {
  decideWithoutStore,
  localPart,
  localPartOfRequest,
} from '../../../src/layers/resilience/when-unavailable.js'
import { makePolicySet } from '../../../src/request.js'
import type { Mode, WhenUnavailable } from '../../../src/store.js'
import { fakeClock } from '../../../src/testing/index.js'
import { virtualTime } from '../../virtual-time.js'
import { onTarget } from '../requests.js'

const one = slidingLog({ name: 'one', limit: 5, window: '1m' })
const two = slidingLog({ name: 'two', limit: 3, window: '1m' })
const cause = new StoreError('WEIR_STORE_FAILED', 'away')

type Each = readonly (WhenUnavailable | undefined)[]

function targetOf(each: Each) {
  return { policySet: makePolicySet('p', [one, two], each), key: 'k' }
}

function decide(each: Each, mode: Mode = 'consume', whenUnavailable: WhenUnavailable = 'local') {
  const fallback = new Fallback({ clock: fakeClock(), peers: () => ALONE, time: virtualTime() })
  const places: (readonly number[])[] = []
  const result = decideWithoutStore(onTarget(targetOf(each), mode), {
    whenUnavailable,
    cause,
    retryAfterMs: 299.5,
    local: (request, some) => {
      places.push(some)
      return fallback.decide(request, undefined)
    },
  })
  const left = result.policies.map(({ remaining }) => remaining)
  return { ...result, left, places }
}

test('local policies are judged by what was seen of them, not of others beside them', () => {
  expect(decide(['allow', 'local']).places).toEqual([[1]])
  expect(decide(['local', 'local']).places).toEqual([[0, 1]])
})

test('policies that say nothing do as the store says', () => {
  expect(decide([undefined, undefined]).left).toEqual([4, 2])
  expect(decide([undefined, undefined], 'consume', 'deny')).toMatchObject({ granted: 0 })
  expect(decide([undefined, 'allow'], 'consume', 'allow').places).toEqual([])
  expect(() => decide([undefined, 'allow'], 'consume', 'throw')).toThrow(cause)
})

test('one that is to deny denies for all, and says when to ask again', () => {
  const denied = { granted: 0, unavailableMs: 300, degraded: true, source: 'local' }
  expect(decide(['local', 'deny'])).toMatchObject(denied)
  expect(decide(['local', 'deny'], 'peek')).toMatchObject(denied)
  expect(decide(['allow', 'deny'])).toMatchObject(denied)
})

test.each(['refund', 'penalty'] as const)('but a %s is not refused, and counts', (mode) => {
  const result = decide(['local', 'deny'], mode)
  expect(result).toMatchObject({ granted: 1, places: [[0, 1]] })
  expect(result.unavailableMs).toBeUndefined()
})

test('one that is to allow is left out', () => {
  expect(decide(['allow', 'local'])).toMatchObject({
    granted: 1,
    policies: [
      { remaining: 5, policy: one },
      { remaining: 2, policy: two },
    ],
  })
  expect(decide(['allow', 'allow'])).toMatchObject({ granted: 1, degraded: true, source: 'local' })
})

test('one that is to throw throws the cause', () => {
  expect(() => decide(['local', 'throw'])).toThrow(cause)
})

test('what counts in memory is what is not to be allowed', () => {
  const target = targetOf(['allow', 'deny'])
  expect(localPart(target, 'local').policySet.policies).toEqual([two])
  const request = { ...onTarget(target, 'consume'), costs: [7, 8], untilUs: [70, 80] }
  const part = localPartOfRequest(request, 'local')
  expect(part).toMatchObject({ costs: [8], untilUs: [80], target: { key: 'k' } })
  // Where that is all, it is the same target, of which something may have been seen.
  const whole = targetOf([undefined, 'local'])
  expect(localPart(whole, 'local')).toBe(whole)
  expect(localPart(whole, 'allow').policySet.policies).toEqual([two])
})
