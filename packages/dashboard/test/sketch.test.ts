// The sketch against an exact count.

import { randomOf } from '@weir/testkit/virtual-time'
import { describe, expect, test } from 'vitest'
import { Sketch } from '../src/collect/sketch.js'

const SLOTS = 256

/** The numbers of keys, by their share of a stream. */
const STREAMS: Readonly<Record<string, (random: () => number, i: number) => number>> = {
  'zipf, many keys': (random) => Math.floor((1 / (random() + 1e-5)) ** 1.2),
  'zipf, few keys': (random) => Math.floor(1_000 ** random()),
  uniform: (random) => Math.floor(random() * 5_000),
  'fewer keys than slots': (random) => Math.floor(random() * 200),
  // Each key comes just after it has lost its slot.
  'adversarial, in turns': (_, i) => i % (SLOTS + 1),
  // The frequent keys come first, and then only new ones.
  'adversarial, strangers last': (random, i) => (i < 5_000 ? Math.floor(random() * 10) : i),
  'adversarial, strangers first': (random, i) =>
    i < 25_000 ? 1_000 + i : Math.floor(random() * 10),
}

function counted(stream: string, seed: number, length: number) {
  let handles = 0
  const sketch = new Sketch(SLOTS, () => String(++handles))
  const exact = new Map<string, number>()
  const random = randomOf(seed).next
  for (let i = 0; i < length; i += 1) {
    const key = `k${STREAMS[stream]?.(random, i)}`
    sketch.add(key)
    exact.set(key, (exact.get(key) ?? 0) + 1)
  }
  return { sketch, exact }
}

describe.each(Object.keys(STREAMS))('%s', (stream) => {
  test.each([1, 2, 3, 4, 5])('counts are within their bounds, seed %i', (seed) => {
    const length = 30_000
    const { sketch, exact } = counted(stream, seed, length)
    const all = sketch.top(SLOTS)
    expect(all.length).toBe(Math.min(SLOTS, exact.size))
    for (const { key, count, error } of all) {
      const truth = exact.get(key) ?? 0
      expect(count).toBeGreaterThanOrEqual(truth)
      expect(count - error).toBeLessThanOrEqual(truth)
      expect(error).toBeLessThanOrEqual(length / SLOTS)
    }
    // Everything that was counted is in some slot.
    expect(all.reduce((sum, { count }) => sum + count, 0)).toBe(length)
    const known = new Set(all.map(({ key }) => key))
    const frequent = [...exact].filter(([, count]) => count > length / SLOTS)
    expect(frequent.filter(([key]) => !known.has(key))).toEqual([])
  })
})

test('of 1,000 keys that are refused in a second, the top ten are right', () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { sketch, exact } = counted('zipf, few keys', seed, 20_000)
    const truth = [...exact.values()].sort((one, two) => two - one)
    const bound = 20_000 / SLOTS
    sketch.top(10).forEach(({ key, count, error }, place) => {
      const own = exact.get(key) ?? 0
      expect(count - error).toBeLessThanOrEqual(own)
      expect(own).toBeLessThanOrEqual(count)
      // The key at each rank has at least the count of the true key at that rank, less the bound.
      expect(own).toBeGreaterThanOrEqual((truth[place] as number) - bound)
    })
  }
})

test('a handle finds its key as long as the key has its slot, and no other key', () => {
  let handles = 0
  const sketch = new Sketch(2, () => String(++handles))
  const { handle } = sketch.add('one')
  sketch.add('two')
  sketch.add('two')
  expect(sketch.keyOf(handle)).toBe('one')
  sketch.add('three')
  expect(sketch.keyOf(handle)).toBeUndefined()
  expect(sketch.top(2).map(({ key, count, error }) => [key, count, error])).toEqual([
    ['two', 2, 0],
    ['three', 2, 1],
  ])
})
