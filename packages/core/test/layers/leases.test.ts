// Requests that a lease does not answer, in virtual time.

import { describe, expect, test } from 'vitest'
import { fixedWindow, gcra, slidingLog, tokenBucket } from '../../src/index.js'
import { Leases } from '../../src/layers/leases/leases.js'
import { memoryStoreOf } from '../../src/memory/store.js'
import { makePolicySet } from '../../src/request.js'
import type { StoreRequest, StoreResult } from '../../src/store.js'
import { virtualTime } from '../virtual-time.js'
import { answerOf, consuming, memoryIn, ScriptedLayer } from './requests.js'

/** When virtual time begins. */
const START_US = Date.UTC(2026, 0, 1) * 1_000
const OPTIONS = { units: 10, holdMs: 100, deadlineMs: 50, denialsLast: true }

test('requests that wait, or need more than a check of their cost, are answered by the store, and end a lease', () => {
  const time = virtualTime()
  const memory = memoryIn(time)
  const next = new ScriptedLayer((asked, pending) => {
    pending.decided(memory.decide(asked as StoreRequest))
  })
  const leases = new Leases(next, {
    units: 10,
    holdMs: 100,
    deadlineMs: 50,
    time,
    clock: undefined,
    denialsLast: true,
  })
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

describe('of classes', () => {
  function layersOf(limit: number) {
    const time = virtualTime()
    const memory = memoryIn(time)
    const next = new ScriptedLayer((asked, pending) => {
      pending.decided(memory.decide(asked as StoreRequest))
    })
    const leases = new Leases(next, { ...OPTIONS, time, clock: undefined })
    const policySet = makePolicySet('p', [slidingLog({ limit, window: '1m' })])
    return { next, leases, policySet }
  }

  test('each has separate leases, which leave the others their part', () => {
    const { next, leases, policySet } = layersOf(1_000)
    const ofClass = { ...consuming(policySet, 'k'), keep: [500] }
    const answers = Array.from({ length: 600 }, () => answerOf(leases, ofClass) as StoreResult)
    expect(answers.filter(({ granted }) => granted === 1)).toHaveLength(500)
    expect(answers.map((each) => each.policies[0]?.remaining).slice(0, 501)).toEqual(
      Array.from({ length: 501 }, (_, i) => Math.max(0, 499 - i)),
    )
    const ahead = next.asked.filter((asked) => asked.mode === 'consume' && asked.count > 1)
    expect(ahead.length).toBeGreaterThan(10)
    expect(ahead.every((asked) => asked.keep?.[0] === 500)).toBe(true)
    for (let i = 0; i < 20; i += 1) answerOf(leases, consuming(policySet, 'k'))
    const own = next.asked.filter((asked) => asked.mode === 'consume' && asked.keep === undefined)
    expect(own.some(({ count }) => count > 1)).toBe(true)
    leases.close()
  })

  test('a peek shows what is left after all of them', () => {
    const { leases, policySet } = layersOf(1_000)
    const plain = consuming(policySet, 'k')
    for (let i = 0; i < 30; i += 1) {
      answerOf(leases, plain)
      answerOf(leases, { ...plain, keep: [500] })
    }
    expect(answerOf(leases, { ...plain, mode: 'peek' })).toMatchObject({
      policies: [{ remaining: 940 }],
    })
    leases.close()
  })
})

test.each([
  ['of the clock', fixedWindow({ limit: 1_000, window: '1s', aligned: true })],
  ['from the first request', fixedWindow({ limit: 1_000, window: '1s' })],
  ['of the calendar', fixedWindow({ limit: 1_000, window: 'hour' })],
])('no unit is spent in another window than the one it was taken in: %s', async (_, policy) => {
  const isHour = policy.windowMs > 1_000
  const policySet = makePolicySet('p', [policy])
  let leased = 0
  // The fraction of a ms at which units are taken, and requested after the window's end.
  for (const offsetMs of [0, 0.1, 0.5, 0.9]) {
    const time = virtualTime(1, Date.UTC(2026, 0, 1) + (isHour ? 3_599_000 : 0))
    const memory = memoryIn(time)
    const next = new ScriptedLayer((asked, pending) => {
      pending.decided(memory.decide(asked as StoreRequest))
    })
    const leases = new Leases(next, {
      units: 100,
      holdMs: 50,
      deadlineMs: 50,
      time,
      clock: time,
      denialsLast: true,
    })
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

test.each([
  ['token bucket', tokenBucket({ capacity: 10_000, refill: 10_000, every: '10s' })],
  ['GCRA', gcra({ burst: 10_000, limit: 10_000, period: '10s' })],
  ['sliding log', slidingLog({ limit: 10_000, window: '10s' })],
])('no more is spent at the end of a lease than fits then: %s', async (_, policy) => {
  const time = virtualTime()
  const memory = memoryIn(time)
  const next = new ScriptedLayer((asked, pending) => {
    pending.decided(memory.decide(asked as StoreRequest))
  })
  const options = { units: 1_000, holdMs: 200, deadlineMs: 50, denialsLast: false }
  const leases = new Leases(next, { ...options, time, clock: time })
  const policySet = makePolicySet('p', [policy])
  const request = consuming(policySet, 'k')
  const consume = () => answerOf(leases, request) as StoreResult
  const spent: number[] = []
  const spend = (count: number) => {
    for (let i = 0; i < count; i += 1) if (consume().granted === 1) spent.push(time.nowMs())
  }
  for (let round = 0; round < 20; round += 1) {
    spend(80)
    await time.advance(100)
  }
  // The last lease is over, and most of the next one is kept until it is nearly over. Then somebody
  // else takes everything.
  await time.advance(110)
  spend(20)
  await time.advance(199)
  const all = { ...request, count: policy.limit }
  for (let i = memory.decide(all).granted; i > 0; i -= 1) spent.push(time.nowMs())
  let held = 0
  for (let answer = consume(); answer.source === 'lease'; answer = consume()) held += 1
  expect(held).toBeGreaterThan(20)
  for (; held > 0; held -= 1) spent.push(time.nowMs())
  leases.close()
  // A store that hears of each unit when it is spent would have granted all of them.
  let nowMs = 0
  const clock = { nowUs: () => START_US + nowMs * 1_000 }
  const judge = memoryStoreOf({ clock, time, maxKeys: 10, keys: 'exact', slackMs: 0 })
  const refused = spent.filter((ms) => {
    nowMs = ms
    return judge.decide(request).granted === 0
  })
  expect(refused).toEqual([])
})
