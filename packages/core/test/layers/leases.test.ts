// What a lease does not answer, in virtual time.

import { expect, test } from 'vitest'
import { slidingLog } from '../../src/index.js'
import { withLeases } from '../../src/layers/leases.js'
import { makePolicySet } from '../../src/request.js'
import type { StoreRequest } from '../../src/store.js'
import { virtualTime } from '../virtual-time.js'
import { answerOf, consuming, memoryIn, ScriptedLayer } from './requests.js'

test('who waits, or says more than its costs, is answered by the store, and ends a lease', () => {
  const time = virtualTime()
  const memory = memoryIn(time)
  const next = new ScriptedLayer((asked, pending) => {
    pending.decided(memory.decide(asked as StoreRequest))
  })
  const leases = withLeases(next, { units: 10, holdMs: 100, time, clock: undefined })
  const policySet = makePolicySet('p', [slidingLog({ limit: 1_000, window: '1m' })])
  const request = consuming(policySet, 'k')
  const isAsked = (asked: StoreRequest): boolean => {
    const before = next.asked.length
    answerOf(leases, asked)
    return next.asked.slice(before).some(({ mode, count }) => mode === 'consume' && count === 1)
  }
  while (isAsked(request)) {}
  expect(isAsked(request)).toBe(false)
  expect(isAsked({ ...request, atLeast: 1 })).toBe(true)
  expect(next.asked.at(-1)).toMatchObject({ atLeast: 1, count: 1 })
  const left = 1_000 - next.asked.filter(({ count }) => count === 1).length
  expect(left).toBeLessThan(1_000)
  leases.close()
})

test('nothing is taken ahead for a class, and what was taken for others goes back first', () => {
  const time = virtualTime()
  const memory = memoryIn(time)
  const next = new ScriptedLayer((asked, pending) => {
    pending.decided(memory.decide(asked as StoreRequest))
  })
  const leases = withLeases(next, { units: 10, holdMs: 100, time, clock: undefined })
  const policySet = makePolicySet('p', [slidingLog({ limit: 1_000, window: '1m' })])
  const ofClass = { ...consuming(policySet, 'k'), keep: [500] }
  for (let i = 0; i < 50; i += 1) answerOf(leases, ofClass)
  expect(next.asked.map(({ count }) => count)).toEqual(Array(50).fill(1))
  for (let i = 0; i < 20; i += 1) answerOf(leases, consuming(policySet, 'k'))
  expect(next.asked.some(({ count }) => count > 1)).toBe(true)
  const answer = answerOf(leases, ofClass)
  expect(answer).toMatchObject({ granted: 1, policies: [{ remaining: 1_000 - 500 - 71 }] })
  leases.close()
})
