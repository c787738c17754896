// What a lease does not answer, in virtual time.

import { expect, test } from 'vitest'
import { fixedWindow, slidingLog } from '../../src/index.js'
import { withLeases } from '../../src/layers/leases.js'
import { makePolicySet } from '../../src/request.js'
import type { StoreRequest, StoreResult } from '../../src/store.js'
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

test.each([
  ['of the clock', fixedWindow({ limit: 1_000, window: '1s', aligned: true })],
  ['from the first request', fixedWindow({ limit: 1_000, window: '1s' })],
  ['of the calendar', fixedWindow({ limit: 1_000, window: 'hour' })],
])('no unit is spent in another window than that it was taken in: %s', async (_, policy) => {
  const isHour = policy.windowMs > 1_000
  const policySet = makePolicySet('p', [policy])
  let leased = 0
  // Where within a ms units are taken, and are asked for after the window's end.
  for (const offsetMs of [0, 0.1, 0.5, 0.9]) {
    const time = virtualTime(1, Date.UTC(2026, 0, 1) + (isHour ? 3_599_000 : 0))
    const memory = memoryIn(time)
    const next = new ScriptedLayer((asked, pending) => {
      pending.decided(memory.decide(asked as StoreRequest))
    })
    const leases = withLeases(next, { units: 100, holdMs: 50, time, clock: time })
    const consume = () => answerOf(leases, consuming(policySet, 'k')) as StoreResult
    consume()
    await time.advance(990 + offsetMs)
    for (let i = 0; i < 60; i += 1) leased += consume().source === 'lease' ? 1 : 0
    await time.advance(10 - offsetMs - 0.001)
    const last = consume()
    expect(last).toMatchObject({ source: 'lease', policies: [{ resetAfterMs: 1 }] })
    await time.advance(0.001)
    let passed = 0
    while (consume().granted > 0) passed += 1
    expect(passed).toBe(1_000)
    leases.close()
  }
  expect(leased).toBeGreaterThan(100)
})
