// Requests that a lease answers or does not, in virtual time: with slow replies, refunds, ends of
// windows, limits that change, many other keys, a clock that throws, and the end of the store.

import { describe, expect, test } from 'vitest'
import { fixedWindow, gcra, slidingLog, tokenBucket } from '../../src/index.js'
import { Leases } from '../../src/layers/leases/leases.js'
import { memoryStoreOf } from '../../src/memory/store.js'
import { makePolicySet } from '../../src/request.js'
import type { PolicySet, StoreRequest, StoreResult } from '../../src/store.js'
import { virtualTime } from '../virtual-time.js'
import { answerOf, consuming, memoryIn, onTarget, ScriptedLayer } from './requests.js'

const START_MS = Date.UTC(2026, 0, 1)
const OPTIONS = { units: 100, holdMs: 200, deadlineMs: 100, denialsLast: true }

/** Leases over a memory store whose replies take this many ms. */
function layersOf(options: Partial<typeof OPTIONS> = {}, tripMs: number = 0, startMs = START_MS) {
  const time = virtualTime(1, startMs)
  const clock = { nowUs: () => time.nowUs() }
  const memory = memoryIn(time)
  const next = new ScriptedLayer((asked, pending) => {
    const decide = (): void => {
      if (asked.mode === 'reset') memory.reset(asked.target)
      const result =
        asked.mode === 'reset' ? ({} as StoreResult) : memory.decide(asked as StoreRequest)
      if (tripMs === 0) pending.decided(result)
      else time.after(tripMs / 2, () => pending.decided(result))
    }
    if (tripMs === 0) decide()
    else time.after(tripMs / 2, decide)
  })
  const leases = new Leases(next, { ...OPTIONS, ...options, time, clock })
  const calls = (): number => next.asked.length
  return { time, clock, memory, next, leases, calls }
}

const bucket = makePolicySet('p', [tokenBucket({ capacity: 1_000, refill: 1_000, every: '10s' })])
const log = makePolicySet('p', [slidingLog({ limit: 1_000, window: '1h' })])

function spend(leases: Leases, policySet: PolicySet, count: number): StoreResult[] {
  const all = Array.from({ length: count }, () => answerOf(leases, consuming(policySet, 'k')))
  return all as StoreResult[]
}

function remainingOf(leases: Leases, policySet: PolicySet): number | undefined {
  const answer = answerOf(leases, onTarget({ policySet, key: 'k' }, 'peek')) as StoreResult
  return answer.policies[0]?.remaining
}

test('a peek shows everything that is left of a bucket', async () => {
  const { time, leases, next, memory } = layersOf({}, 0.5)
  // So that no lease waits for its end.
  memory.decide({ ...consuming(bucket, 'k'), count: 300 })
  const ask = (): void => leases.ask(consuming(bucket, 'k'), { decided() {}, failed() {} })
  let asked = 0
  for (let ms = 0; ms < 40; ms += 1) {
    for (let i = 0; i < 10; i += 1) ask()
    asked += 10
    await time.advance(1)
  }
  expect(next.asked.some(({ mode, count }) => mode === 'consume' && count > 20)).toBe(true)
  // Nothing is on its way any more.
  await time.advance(5)
  leases.ask(onTarget({ policySet: bucket, key: 'k' }, 'peek'), { decided() {}, failed() {} })
  await time.advance(5)
  const peek = new Promise<StoreResult>((decided, failed) =>
    leases.ask(onTarget({ policySet: bucket, key: 'k' }, 'peek'), { decided, failed }),
  )
  const { policies } = await time.settle(peek)
  expect(policies[0]?.remaining).toBeGreaterThanOrEqual(700 - asked)
  leases.close()
})

test('a lease of a bucket whose units were refunded gives nothing back that has drained', async () => {
  const { time, leases, memory, next } = layersOf({ holdMs: 200 })
  const decisions: StoreResult[] = []
  const held = (): number =>
    next.asked.reduce((sum, { mode, count }) => sum + (mode === 'consume' ? count : 0), 0) -
    decisions.length
  while (held() < 40) decisions.push(...spend(leases, bucket, 1))
  for (const { untilUs, nowUs } of decisions) {
    const target = { policySet: bucket, key: 'k' }
    answerOf(leases, { ...onTarget(target, 'refund'), untilUs, seenUs: nowUs })
  }
  const units = held()
  // The event loop is blocked while others take as much as is held.
  time.block(740)
  const take = (count: number) => memory.decide({ ...consuming(bucket, 'k'), count }).granted
  const before = take(units)
  await time.advance(0.001)
  expect(before + take(1_000)).toBeLessThanOrEqual(1_000)
})

test('requests that come while replies take longer than a lease take one round trip each', async () => {
  const { time, leases, calls } = layersOf({ holdMs: 10 }, 24)
  const took: number[] = []
  let asked = 0
  for (let ms = 0; ms < 1_000; ms += 1) {
    for (let i = 0; i < 4; i += 1) {
      const atMs = time.nowMs()
      asked += 1
      leases.ask(consuming(log, 'k'), {
        decided: () => void took.push(time.nowMs() - atMs),
        failed: () => expect.unreachable(),
      })
    }
    await time.advance(1)
  }
  await time.advance(100)
  expect(took.length).toBe(asked)
  expect(Math.max(...took)).toBeLessThanOrEqual(48)
  expect(calls()).toBeLessThan(asked)
  leases.close()
})

test('a window that is over refuses nobody, and a refused request gets its wait', async () => {
  const policySet = makePolicySet('p', [fixedWindow({ limit: 100, window: '1s', aligned: true })])
  const { time, leases } = layersOf({ holdMs: 1_000 }, 1)
  const wrong: unknown[] = []
  const ask = (): void =>
    leases.ask(consuming(policySet, 'k'), {
      decided({ policies: [each], granted }) {
        const { retryAfterMs = 0, resetAfterMs = 0 } = each ?? {}
        if (granted === 0 && retryAfterMs > resetAfterMs + 1)
          wrong.push([retryAfterMs, resetAfterMs])
        passed.set(second(), (passed.get(second()) ?? 0) + granted)
        if (granted === 1 && !first.has(second())) first.set(second(), time.nowMs() % 1_000)
      },
      failed: () => expect.unreachable(),
    })
  const second = (): number => Math.floor(time.nowMs() / 1_000)
  const passed = new Map<number, number>()
  const first = new Map<number, number>()
  for (let ms = 0; ms < 3_500; ms += 1) {
    ask()
    await time.advance(1)
  }
  expect(wrong).toEqual([])
  expect([...passed.values()].slice(0, 3)).toEqual([100, 100, 100])
  expect(Math.max(...first.values())).toBeLessThan(10)
  leases.close()
})

test('if a clock throws when units come, all waiting requests get the error, and the units go back', async () => {
  const time = virtualTime()
  const memory = memoryIn(time)
  let isBroken = false
  const clock = {
    nowUs() {
      if (isBroken) throw new Error('no time')
      return time.nowUs()
    },
  }
  const waiting: (() => void)[] = []
  const next = new ScriptedLayer((asked, pending) => {
    const result = memory.decide(asked as StoreRequest)
    if (asked.aheadMs === undefined) pending.decided(result)
    else waiting.push(() => pending.decided(result))
  })
  const leases = new Leases(next, { ...OPTIONS, time, clock })
  const told: unknown[] = []
  for (let i = 0; i < 12; i += 1)
    leases.ask(consuming(log, 'k'), {
      decided: ({ granted }) => void told.push(granted),
      failed: (error) => void told.push((error as Error).message),
    })
  isBroken = true
  waiting[0]?.()
  expect(told).toEqual([...Array(7).fill(1), ...Array(5).fill('no time')])
  expect(memory.decide(onTarget({ policySet: log, key: 'k' }, 'peek')).policies[0]?.remaining).toBe(
    993,
  )
})

test('a refund without a receipt gives back nothing that a lease then spends', () => {
  const policySet = makePolicySet('p', [fixedWindow({ limit: 100, window: '1h' })])
  const { leases } = layersOf()
  spend(leases, policySet, 25)
  answerOf(leases, { ...onTarget({ policySet, key: 'k' }, 'refund'), costs: [100] })
  const passed = spend(leases, policySet, 200).filter(({ granted }) => granted === 1)
  expect(passed).toHaveLength(100)
})

test('a request with its own deadline waits for no other', () => {
  const { leases, next } = layersOf({}, 40)
  const ask = (more: object = {}): void =>
    leases.ask({ ...consuming(log, 'k'), ...more }, { decided() {}, failed() {} })
  for (let i = 0; i < 10; i += 1) ask()
  const before = next.asked.length
  ask({ deadlineAtMs: 5 })
  expect(next.asked.slice(before)).toMatchObject([{ deadlineAtMs: 5, count: 1 }])
})

test('requests after the store was closed are not kept, and no timer is left', async () => {
  const { time, leases, next } = layersOf({}, 40)
  for (let i = 0; i < 9; i += 1) leases.ask(consuming(log, 'k'), { decided() {}, failed() {} })
  leases.close()
  await time.advance(100)
  expect(next.asked.map(({ mode, count }) => `${mode} ${count}`)).toEqual([
    ...Array(7).fill('consume 1'),
    'consume 3',
    'cancel 1',
  ])
  await time.advance(100)
  // The timer of the memory store.
  expect(time.timers).toBe(1)
})

test('classes of limits that are gone are forgotten, and what was held for them goes back', () => {
  const { leases, next, memory } = layersOf()
  let spent = 0
  for (let limit = 500; limit < 520; limit += 1) {
    const policySet = makePolicySet('p', [slidingLog({ name: 'own', limit, window: '1h' })])
    const request = { ...consuming(policySet, 'k'), keep: [limit / 10] }
    for (let i = 0; i < 20; i += 1) spent += (answerOf(leases, request) as StoreResult).granted
  }
  const policySet = makePolicySet('p', [slidingLog({ name: 'own', limit: 1_000, window: '1h' })])
  expect(remainingOf(leases, policySet)).toBeLessThanOrEqual(1_000 - spent)
  answerOf(leases, consuming(policySet, 'k'))
  const { policies } = memory.decide(onTarget({ policySet, key: 'k' }, 'peek'))
  expect(policies[0]?.remaining).toBe(1_000 - spent - 1)
  const given = next.asked.filter(({ mode }) => mode === 'cancel')
  expect(given.length).toBeGreaterThanOrEqual(19)
})

describe('a hot key', () => {
  test('with even requests takes a call for each lease, which is spent completely', async () => {
    const { time, leases, next } = layersOf({ units: 1_000 }, 1)
    const policySet = makePolicySet('p', [slidingLog({ limit: 100_000, window: '1h' })])
    const second = async (): Promise<void> => {
      for (let ms = 0; ms < 1_000; ms += 1) {
        leases.ask(consuming(policySet, 'k'), { decided() {}, failed() {} })
        await time.advance(1)
      }
    }
    await second()
    const before = next.asked.length
    await second()
    const asked = next.asked.slice(before)
    // 200 are requested during a lease, so a lease has about 172.
    expect(asked.map(({ mode }) => mode)).toEqual(Array(asked.length).fill('consume'))
    expect(asked.length).toBeLessThanOrEqual(7)
    leases.close()
  })

  test('is still known among many cold ones', async () => {
    const { time, leases } = layersOf()
    let byLease = 0
    for (let round = 0; round < 200; round += 1) {
      for (let i = 0; i < 100; i += 1) answerOf(leases, consuming(log, `cold-${round}-${i}`))
      for (let i = 0; i < 4; i += 1)
        byLease += (answerOf(leases, consuming(log, 'k')) as StoreResult).source === 'lease' ? 1 : 0
      await time.advance(10)
    }
    expect(byLease).toBeGreaterThan(700)
    leases.close()
  })
})

test('requests that wait, or need more than a check of their cost, are answered by the store, and end a lease', () => {
  const { leases, next } = layersOf({ units: 10 })
  const request = consuming(log, 'k')
  const isAsked = (asked: StoreRequest): boolean => {
    const before = next.asked.length
    answerOf(leases, asked)
    return next.asked.slice(before).some(({ mode, count }) => mode === 'consume' && count === 1)
  }
  while (isAsked(request)) {}
  expect(isAsked(request)).toBe(false)
  expect(isAsked({ ...request, atLeast: 1 })).toBe(true)
  expect(next.asked.at(-1)).toMatchObject({ atLeast: 1, count: 1 })
  leases.close()
})

test('each class has separate leases, which leave the others their part', () => {
  const { next, leases } = layersOf({ units: 10 })
  const ofClass = { ...consuming(log, 'k'), keep: [500] }
  const answers = Array.from({ length: 600 }, () => answerOf(leases, ofClass) as StoreResult)
  expect(answers.filter(({ granted }) => granted === 1)).toHaveLength(500)
  expect(answers.map((each) => each.policies[0]?.remaining).slice(0, 501)).toEqual(
    Array.from({ length: 501 }, (_, i) => Math.max(0, 499 - i)),
  )
  const ahead = next.asked.filter((asked) => asked.mode === 'consume' && asked.count > 1)
  expect(ahead.length).toBeGreaterThan(10)
  expect(ahead.every((asked) => asked.keep?.[0] === 500)).toBe(true)
  spend(leases, log, 20)
  const own = next.asked.filter((asked) => asked.mode === 'consume' && asked.keep === undefined)
  expect(own.some(({ count }) => count > 1)).toBe(true)
  expect(remainingOf(leases, log)).toBe(480)
  leases.close()
})

test.each([
  ['of the clock', fixedWindow({ limit: 1_000, window: '1s', aligned: true })],
  ['from the first request', fixedWindow({ limit: 1_000, window: '1s' })],
  ['of the calendar', fixedWindow({ limit: 1_000, window: 'hour' })],
])('no unit is spent in another window than the one it was taken in: %s', async (_, policy) => {
  const startMs = START_MS + (policy.windowMs > 1_000 ? 3_599_000 : 0)
  const policySet = makePolicySet('p', [policy])
  let leased = 0
  // The fraction of a ms at which units are taken, and requested after the window's end.
  for (const offsetMs of [0, 0.1, 0.5, 0.9]) {
    const { time, leases } = layersOf({ holdMs: 50, deadlineMs: 50 }, 0, startMs)
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
  const options = { units: 1_000, deadlineMs: 50, denialsLast: false }
  const { time, memory, leases } = layersOf(options)
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
  const clock = { nowUs: () => (START_MS + nowMs) * 1_000 }
  const judge = memoryStoreOf({ clock, time, maxKeys: 10, keys: 'exact', slackMs: 0 })
  const refused = spent.filter((ms) => {
    nowMs = ms
    return judge.decide(request).granted === 0
  })
  expect(refused).toEqual([])
})
