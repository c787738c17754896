import { expect, test } from 'vitest'
import { Events, randomOf, timersOn } from '../src/virtual-time/index.js'

const MINUTE_US = 60_000_000

test('events happen in the order of their times, and those of one instant in the order of planning', async () => {
  const events = new Events(0)
  const random = randomOf(7)
  const happened: { atUs: number; i: number }[] = []
  for (let i = 0; i < 500; i += 1) {
    const us = random.whole(0, 100)
    const cancel = events.after(us, () => happened.push({ atUs: events.nowUs, i }))
    if (i % 5 === 0) cancel()
  }
  await events.runFor(100)
  expect(happened.length).toBe(400)
  const sorted = happened.toSorted((one, other) => one.atUs - other.atUs || one.i - other.i)
  expect(happened).toEqual(sorted)
})

test("everything that an event's promises lead to happens before the next event", async () => {
  const events = new Events(0)
  const happened: string[] = []
  events.after(1, async () => {
    for (let i = 0; i < 50; i += 1) await Promise.resolve()
    happened.push('promises')
    events.after(0, () => happened.push('soon'))
  })
  events.after(2, () => happened.push('next'))
  await events.runFor(2)
  expect(happened).toEqual(['promises', 'soon', 'next'])
})

test('time stops where it was told to, or where the awaited event happened', async () => {
  const events = new Events(1_000)
  let isOver = false
  events.after(10, () => {
    isOver = true
  })
  await events.runUntil(2_000, () => isOver)
  expect(events.nowUs).toBe(1_010)
  await events.runFor(MINUTE_US)
  expect(events.nowUs).toBe(MINUTE_US + 1_010)
})

test('events that became overdue while time was set forward happen afterwards', async () => {
  const events = new Events(0)
  const happenedUs: number[] = []
  events.after(10, () => happenedUs.push(events.nowUs))
  events.after(30, () => happenedUs.push(events.nowUs))
  events.nowUs += 20
  await events.runFor(20)
  expect(happenedUs).toEqual([20, 30])
})

test('timers are counted until they have fired or been cancelled', async () => {
  const events = new Events(0)
  const timers = timersOn((us, action) => events.after(us, action))
  let calls = 0
  const cancel = timers.after(0, () => {
    calls += 1
  })
  const other = timers.after(5, () => {
    calls += 1
  })
  expect(timers.count).toBe(2)
  await events.runFor(999)
  expect([calls, timers.count]).toEqual([0, 2])
  await events.runFor(1)
  expect([calls, timers.count]).toEqual([1, 1])
  cancel()
  other()
  other()
  await events.runFor(MINUTE_US)
  expect([calls, timers.count]).toEqual([1, 0])
  expect(() => timers.after(2 ** 31, () => {})).toThrow(RangeError)
})

test('a seed gives the same numbers, and a fork gives others without shifting them', () => {
  const numbers = (seed: number): number[] => {
    const random = randomOf(seed)
    return Array.from({ length: 5 }, random.next)
  }
  expect(numbers(3)).toEqual(numbers(3))
  expect(numbers(4)).not.toEqual(numbers(3))
  const random = randomOf(3)
  const other = random.fork()
  expect(other.next()).not.toBe(numbers(3)[1])
  expect(random.next()).toBe(numbers(3)[1])
})
