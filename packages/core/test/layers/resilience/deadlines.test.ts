// Deadlines, in virtual time: what must end in time ends then, and nothing that was answered ends.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Deadlines, type Timed } from '../../../src/layers/resilience/deadlines.js'
import { virtualTime } from '../../virtual-time.js'

const AFTER_MS = 100

function deadlinesIn(time = virtualTime()) {
  const deadlines = new Deadlines(time, AFTER_MS)
  const expired: [string, number][] = []
  function add(name: string, deadlineAtMs?: number): Timed {
    const expire = (): void => void expired.push([name, time.nowMs()])
    const item: Timed = { deadline: undefined, previous: undefined, next: undefined, expire }
    deadlines.add(item, deadlineAtMs)
    return item
  }
  return { time, deadlines, expired, add }
}

test('what is added just before others expire has its full time', async () => {
  const { time, expired, add } = deadlinesIn()
  time.after(100, () => time.soon(() => time.soon(() => add('new'))))
  add('old')
  await time.advance(1_000)
  expect(expired).toEqual([
    ['old', 100],
    ['new', 200],
  ])
})

test('the time starts at the end of the turn in which something was added', async () => {
  const { time, expired, add } = deadlinesIn()
  add('a')
  time.block(500)
  await time.advance(99)
  expect(expired).toEqual([])
  await time.advance(1)
  expect(expired).toEqual([['a', 600]])
})

test('after the event loop was blocked, replies that have arrived come first', async () => {
  const { time, deadlines, expired, add } = deadlinesIn()
  const [answered] = [add('answered'), add('not answered')]
  await time.advance(1)
  // The reply arrives after 150 ms, and is read after everything that was due before it.
  time.after(150, () => time.soon(() => deadlines.remove(answered)))
  time.block(400)
  await time.advance(1)
  expect(expired).toEqual([])
  await time.advance(10)
  expect(expired).toEqual([['not answered', 411]])
})

test('everything left expires on close, and no timer stays', async () => {
  const { time, deadlines, expired, add } = deadlinesIn()
  for (const name of ['a', 'b', 'c']) add(name)
  await time.advance(10)
  deadlines.close()
  expect(expired.map(([name]) => name)).toEqual(['a', 'b', 'c'])
  await time.advance(1_000)
  expect(expired.length).toBe(3)
  expect(time.timers).toBe(0)
})

test('each expires once at its time, whatever is added and removed in between', async () => {
  const step = fc.record({
    waitMs: fc.integer({ min: 0, max: 60 }),
    own: fc.option(fc.integer({ min: 0, max: 200 })),
    remove: fc.option(fc.nat(50)),
  })
  const property = fc.asyncProperty(
    fc.array(step, { maxLength: 60, size: 'max' }),
    async (steps) => {
      const { time, deadlines, expired, add } = deadlinesIn()
      const items: Timed[] = []
      const dueMs: number[] = []
      const removed = new Set<number>()
      for (const [i, { waitMs, own, remove }] of steps.entries()) {
        const ownMs = own === null ? undefined : time.nowMs() + own
        dueMs.push(ownMs ?? time.nowMs() + AFTER_MS)
        items.push(add(String(i), ownMs))
        const item = remove === null ? undefined : items[remove]
        if (item !== undefined) {
          deadlines.remove(item)
          removed.add(remove as number)
        }
        await time.advance(waitMs)
      }
      await time.advance(1_000)
      expect(new Set(expired.map(([name]) => name)).size).toBe(expired.length)
      const late = expired.map(([name, atMs]) => atMs - (dueMs[Number(name)] as number))
      // A timer takes at least a ms.
      expect(late.every((ms) => ms >= 0 && ms <= 1)).toBe(true)
      const names = new Set(expired.map(([name]) => Number(name)))
      items.forEach((_, i) => {
        if (!removed.has(i)) expect(names.has(i)).toBe(true)
      })
      expect(time.timers).toBe(0)
    },
  )
  await fc.assert(property, { numRuns: 300 })
})
