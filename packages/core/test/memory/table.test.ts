// The states of one policy in memory: the same answers as from a plain Map, and bounds on what is
// kept and on what a call does.

import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { Kernel } from '../../src/algorithms/algorithm.js'
import { bucket } from '../../src/algorithms/bucket/kernel.js'
import { type Counter, decide } from '../../src/algorithms/driver.js'
import { slidingCounter } from '../../src/algorithms/sliding-counter/kernel.js'
import { slidingLog } from '../../src/algorithms/sliding-log/kernel.js'
import { processTime } from '../../src/base/time.js'
import { sweeper } from '../../src/memory/sweeper.js'
import type { MemoryTable } from '../../src/memory/table.js'
import { kernels } from '../redis/differential/model.js'
import { kernelNames, type WalkRecipe, walks } from '../redis/differential/recipe.js'
import { takeWalk } from '../redis/differential/walk.js'
import { asking, HOUR_MS, HOURLY, KINDS, NOW_MS, tableOf } from './table-of.js'

describe.each(KINDS)('a table of %s keys', (keys) => {
  test.each(kernelNames)('answers as a plain Map does (%s)', (name) => {
    fc.assert(
      fc.property(walks(name), (recipe: WalkRecipe) => {
        const walk = takeWalk(recipe)
        const tables = walk.versions[0]?.map(({ kernel }) => {
          return tableOf(kernels[kernel] as Kernel, { keys, slackMs: 1e12 })
        }) as MemoryTable[]
        const counters = walk.versions.map((policies) =>
          policies.map(({ kernel, numbers }, i) => {
            const table = tables[i] as MemoryTable
            table.use(numbers)
            const known = kernels[kernel] as Kernel
            return { kernel: known, scratch: known.prepare(numbers), table, slot: -1 }
          }),
        )
        for (const { requests, expected, nowUs } of walk.calls) {
          const replies = requests.map((request) => {
            const ofVersion = counters[request.version] as Counter[]
            const readings = ofVersion.map(() => ({ left: 0, waitMs: 0, resetUs: 0 }))
            const names = ofVersion.map(() => request.key)
            const granted = decide(ofVersion, names, request, nowUs, readings)
            return { granted, readings }
          })
          expect(replies).toMatchObject(expected)
        }
      }),
      { numRuns: stepsOf(15, 600) },
    )
  })

  test('stays full, whatever keys come, and exhausted keys stay exhausted', () => {
    const table = tableOf(bucket, { keys, maxKeys: 2_000 })
    const ask = asking(table, bucket, HOURLY)
    for (let i = 0; i < 100; i += 1) ask(`exhausted-${i}`, NOW_MS, 5)
    for (let i = 0; i < 50_000; i += 1) ask(`made-up-${i}`)
    expect(table.states.count).toBeLessThanOrEqual(2_000)
    for (let i = 0; i < 100; i += 1) expect(ask(`exhausted-${i}`)).toBe(-1)
  })

  test('lets newcomers share a bucket when all keys are exhausted', () => {
    const table = tableOf(bucket, { keys, maxKeys: 1_000 })
    const ask = asking(table, bucket, HOURLY)
    for (let i = 0; i < 1_000; i += 1) ask(`exhausted-${i}`, NOW_MS, 5)
    for (let i = 0; i < 5; i += 1) expect(ask(`new-${i}`)).toBe(4 - i)
    for (let i = 5; i < 1_000; i += 1) expect(ask(`new-${i}`)).toBe(-1)
    expect(table.states.count).toBe(1_001)
  })

  test('has one shared bucket, and one again after keys make room', () => {
    const table = tableOf(bucket, { keys, maxKeys: 100 })
    const ask = asking(table, bucket, HOURLY)
    for (let i = 0; i < 100; i += 1) ask(`exhausted-${i}`, NOW_MS, 5)
    ask('shares')
    // An hour later each key has a unit back, so newcomers take the places of others.
    const later = NOW_MS + HOUR_MS
    for (let i = 0; i < 50; i += 1) ask(`new-${i}`, later)
    expect(ask('new-49', later)).toBe(3)
    expect(table.states.count).toBeLessThanOrEqual(101)
  })

  test('asks its kernel about a handful of keys at most, whatever a call does', () => {
    const read = vi.fn(bucket.read)
    const kernel = { ...bucket, read }
    const table = tableOf(kernel, { keys, maxKeys: 5_000 })
    const ask = asking(table, kernel, HOURLY)
    let most = 0
    for (let i = 0; i < 20_000; i += 1) {
      read.mockClear()
      ask(`key-${i}`, NOW_MS + i, 1 + (i % 5))
      most = Math.max(most, read.mock.calls.length)
    }
    expect(most).toBe(9)
  })

  test('stores a log of one run among the others again after it was longer', () => {
    const read = vi.fn(slidingLog.read)
    const kernel = { ...slidingLog, read }
    const table = tableOf(kernel, { keys })
    const ask = asking(table, kernel, [10, 1_000, 1])
    const cellsOf = (key: string) => {
      table.read(kernel.prepare([10, 1_000, 1]), key, NOW_MS * 1_000)
      return read.mock.lastCall?.[1]
    }
    ask('short')
    ask('long')
    ask('long', NOW_MS + 10)
    const scratch = cellsOf('short')
    expect(cellsOf('long')).not.toBe(scratch)
    expect(ask('long', NOW_MS + 2_100)).toBe(9)
    expect(cellsOf('long')).toBe(scratch)
  })

  test('looks at two other keys with each newcomer, so that keys which come once do not accumulate', () => {
    const table = tableOf(bucket, { keys })
    const ask = asking(table, bucket, [8_000 * 1_000, 5, 8_000 * 5_000])
    let most = 0
    for (let i = 0; i < 20_000; i += 1) {
      ask(`key-${i}`, NOW_MS + i)
      most = Math.max(most, table.states.count)
    }
    // A thousand are useful at a time, and another 256 are kept since they are counted in such
    // steps.
    expect(most).toBeLessThan(5_000)
  })
})

describe('a table whose numbers change under one name', () => {
  test.each([
    ['log', slidingLog, [5, HOUR_MS, 1], [5, 1_000, 1]],
    ['counter', slidingCounter, [5, HOUR_MS, 0], [5, 1_000, 0]],
  ] as const)(
    'keeps a state as long as it matters to the numbers that wrote it (%s)',
    (_, kernel, long, short) => {
      const table = tableOf(kernel as Kernel, {})
      const askShort = asking(table, kernel as Kernel, short)
      const askLong = asking(table, kernel as Kernel, long)
      expect(askLong('k')).toBe(4)
      for (let i = 0; i < 1_000; i += 1) askShort(`other-${i}`, NOW_MS + 10 * i)
      table.states.sweep(NOW_MS + 60_000, 5_000, 5_000)
      expect(table.states.count).toBe(1)
      expect(askLong('k', NOW_MS + 60_000)).toBe(3)
    },
  )

  test('never lets a key make room that is exhausted by any of the numbers', () => {
    const table = tableOf(slidingLog as Kernel, { maxKeys: 50 })
    const askMuch = asking(table, slidingLog as Kernel, [100, HOUR_MS, 1])
    const askLittle = asking(table, slidingLog as Kernel, [5, HOUR_MS, 1])
    askLittle('attacker', NOW_MS, 5)
    for (let i = 0; i < 5_000; i += 1) askMuch(`made-up-${i}`, NOW_MS, 20)
    expect(askLittle('attacker')).toBe(-1)
  })

  test('remembers only a few of them', () => {
    const read = vi.fn(bucket.read)
    const kernel = { ...bucket, read }
    const table = tableOf(kernel, { maxKeys: 10 })
    for (let i = 1; i < 1_000; i += 1) table.use([5, i, i * 5])
    const ask = asking(table, kernel, HOURLY)
    for (let i = 0; i < 10; i += 1) ask(`k${i}`)
    read.mockClear()
    ask('new')
    expect(read.mock.calls.length).toBeLessThanOrEqual(1 + 8 * 8)
  })
})

describe('the sweeper', () => {
  test('has one timer for all keys of all tables, none when there are no keys, and shares its slices among tables', () => {
    vi.useFakeTimers({ now: NOW_MS })
    try {
      const clock = { nowUs: () => Date.now() * 1_000 }
      const tables = [tableOf(bucket, {}), tableOf(bucket, {}), tableOf(bucket, {})]
      const sweeping = sweeper(byId(tables), clock, processTime, () => {})
      const asks = tables.map((table) => asking(table, bucket, [8_000 * 100, 5, 8_000 * 500]))
      for (let i = 0; i < 30_000; i += 1) {
        for (const ask of asks) ask(`key-${i}`, Date.now())
        sweeping.start()
      }
      expect(vi.getTimerCount()).toBe(1)
      const sizes = () => tables.reduce((sum, { states }) => sum + states.count, 0)
      let before = sizes()
      expect(before).toBe(90_000)
      let slices = 0
      while (vi.getTimerCount() > 0) {
        vi.advanceTimersToNextTimer()
        slices += 1
        expect(before - sizes()).toBeLessThanOrEqual(1_000)
        before = sizes()
      }
      expect(before).toBe(0)
      expect(slices).toBeLessThan(100)
      expect(Date.now() - NOW_MS).toBeLessThan(4_000)

      asks[0]?.('k', Date.now())
      sweeping.start()
      expect(vi.getTimerCount()).toBe(1)
      sweeping.stop()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('looks at all keys in a few slices, and then rests for a second', () => {
    vi.useFakeTimers({ now: NOW_MS })
    try {
      const table = tableOf(bucket, {})
      const ask = asking(table, bucket, HOURLY)
      for (let i = 0; i < 30_000; i += 1) ask(`key-${i}`)
      const sweeping = sweeper(byId([table]), processTime, processTime, () => {})
      sweeping.start()
      const sweep = vi.spyOn(table.states, 'sweep')
      vi.advanceTimersByTime(10_000)
      const looks = sweep.mock.calls.reduce((sum, [, looked]) => sum + looked, 0)
      expect(looks).toBeGreaterThanOrEqual(9 * 30_000)
      expect(looks).toBeLessThanOrEqual(10 * 30_000 + 10_000)
      sweeping.stop()
    } finally {
      vi.useRealTimers()
    }
  })

  test('drops tables that have nothing left, and reports it', () => {
    vi.useFakeTimers({ now: NOW_MS })
    try {
      const tables = byId(Array.from({ length: 30_000 }, () => tableOf(bucket, { maxKeys: 1_000 })))
      const used = tables.get('t0') as MemoryTable
      asking(used, bucket, HOURLY)('k')
      const dropped = vi.fn()
      const sweeping = sweeper(tables, processTime, processTime, dropped)
      sweeping.start()
      vi.advanceTimersByTime(1_000)
      expect(tables.size).toBeGreaterThanOrEqual(20_000)
      vi.advanceTimersByTime(3_000)
      expect([...tables.values()]).toEqual([used])
      expect(dropped.mock.calls.length).toBeLessThanOrEqual(4)
      sweeping.stop()
    } finally {
      vi.useRealTimers()
    }
  })

  test('drops nothing by a clock that fails, and continues', () => {
    vi.useFakeTimers({ now: NOW_MS })
    try {
      let broken = true
      const clock = {
        nowUs() {
          if (broken) throw new RangeError('no such time')
          return Date.now() * 1_000
        },
      }
      const table = tableOf(bucket, {})
      asking(table, bucket, HOURLY)('k')
      const sweeping = sweeper(byId([table]), clock, processTime, () => {})
      sweeping.start()
      vi.advanceTimersByTime(2 * HOUR_MS)
      expect(table.states.count).toBe(1)
      broken = false
      vi.advanceTimersByTime(1_000)
      expect(table.states.count).toBe(0)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})

function byId(tables: readonly MemoryTable[]): Map<string, MemoryTable> {
  return new Map(tables.map((table, i) => [`t${i}`, table]))
}
