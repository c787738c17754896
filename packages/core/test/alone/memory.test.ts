// The memory that counters take, measured with the garbage of a process collected.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bucket } from '../../src/algorithms/bucket/kernel.js'
import { fixedWindow, memoryStore, RateLimiter, slidingWindow } from '../../src/index.js'
import { makePolicySet } from '../../src/request.js'
import { fakeClock } from '../../src/testing/index.js'
import { asking, HOUR_MS, HOURLY, KINDS, NOW_MS, tableOf } from '../memory/table-of.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes in use once garbage is collected. */
function inUse(): { readonly arrays: number; readonly all: number } {
  collect()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { arrays: arrayBuffers, all: heapUsed + arrayBuffers }
}

test.each(KINDS)(
  'a table drops expired keys, in slices no larger than requested, and frees their memory: %s keys',
  (keys) => {
    const table = tableOf(bucket, { keys })
    const ask = asking(table, bucket, HOURLY)
    const before = inUse().arrays
    for (let i = 0; i < 200_000; i += 1)
      ask(`key-${i}`, i % 1_000 === 0 ? NOW_MS + 2 * HOUR_MS : NOW_MS)
    const full = inUse().arrays - before
    expect(full).toBeGreaterThan(200_000 * 16)
    expect(full).toBeLessThan(200_000 * 40)

    const later = NOW_MS + 1.5 * HOUR_MS
    for (let slice = 0; slice < 100 && table.states.count > 200; slice += 1) {
      const { count: size } = table.states
      const dropped = table.states.sweep(later, 20_000, 4_000)
      expect(dropped).toBeLessThanOrEqual(4_000)
      expect(table.states.count).toBe(size - dropped)
    }
    expect(table.states.count).toBe(200)
    for (let i = 0; i < 200_000; i += 1_000) expect(ask(`key-${i}`, later)).toBe(2)
    expect(inUse().arrays - before).toBeLessThan(full / 10)

    while (table.states.count > 0) table.states.sweep(later + 10 * HOUR_MS, 1_000, 1_000)
    expect(inUse().arrays - before).toBeLessThan(10_000)
  },
)

test('the tables of policies whose keys were all reset or refunded take no memory', () => {
  const policies = Array.from({ length: 20_000 }, (_, i) =>
    fixedWindow({ name: `p${i}`, limit: 5, window: '1h' }),
  )
  vi.useFakeTimers({ now: 1_800_000_000_000 })
  onTestFinished(() => void vi.useRealTimers())
  const store = memoryStore()
  const before = inUse().all
  for (const policy of policies)
    store.reset({ policySet: makePolicySet('api', [policy]), key: 'k' })
  expect(inUse().all - before).toBeLessThan(2 * 2 ** 20)
  for (const policy of policies) {
    const target = { policySet: makePolicySet('api', [policy]), key: 'k' }
    store.decide({ mode: 'consume', target, costs: [2], count: 1 })
    store.decide({ mode: 'refund', target, costs: [2], count: 1 })
  }
  // Within a second and a few slices.
  vi.advanceTimersByTime(1_200)
  expect(inUse().all - before).toBeLessThan(2 * 2 ** 20)
  expect(vi.getTimerCount()).toBe(0)
  store.close()
})

test('@nestjs/throttler PR #2695: forged keys made a memory store grow forever, or pushed an exhausted one out. 300,000 of them do neither', () => {
  const store = memoryStore({ clock: fakeClock() })
  const limiter = new RateLimiter({ store, policy: slidingWindow({ limit: 3, window: '1h' }) })
  const allowed = (key: string) => (limiter.decide(key) as { allowed: boolean }).allowed
  const fill = (from: number, to: number) => {
    for (let i = from; i < to; i += 1) allowed(`forged-${i}`)
  }
  expect(['me', 'me', 'me', 'me'].map(allowed)).toEqual([true, true, true, false])
  fill(0, 150_000)
  const before = inUse().all
  fill(150_000, 300_000)
  // At 80 bytes each, they would be 12 million.
  expect(inUse().all - before).toBeLessThan(5e6)
  expect(allowed('me')).toBe(false)
  store.close()
})
