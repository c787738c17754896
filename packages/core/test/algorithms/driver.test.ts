import { expect, test, vi } from 'vitest'
import { bucket } from '../../src/algorithms/bucket/kernel.js'
import { type Counter, decide, type Table } from '../../src/algorithms/driver.js'

test('a table gets the time of a write, rounded down, and how long the state matters, rounded up', () => {
  // 3 units drain in 3.75 us: 10 ticks a unit, at 8 ticks a microsecond.
  const scratch = bucket.prepare([10, 100, 1_000])
  const write = vi.fn<Table['write']>()
  const table: Table = {
    marks: { of: () => ({ forgottenUs: 0, gaveUs: 0 }), set: () => {} },
    read: (scratch, _key, nowUs) => {
      bucket.read(scratch, undefined, 0, nowUs)
      return -1
    },
    write,
    remove: () => {},
  }
  const counter: Counter = { kernel: bucket, scratch, table, slot: -1 }
  const readings = [{ left: 0, waitMs: 0, resetUs: 0 }]
  const ask = (nowUs: number, cost: number) => {
    decide([counter], ['k'], { mode: 'consume', costs: [cost] }, nowUs, readings)
    return write.mock.lastCall?.slice(3)
  }
  expect(ask(1_800_000_000_000_000, 3)).toEqual([1_800_000_000_000, 1])
  expect(ask(1_800_000_000_000_999, 3)).toEqual([1_800_000_000_000, 1])

  const slow = bucket.prepare([10, 80_080, 160_160])
  Object.assign(counter, { scratch: slow })
  expect(ask(1_800_000_000_001_000, 1)).toEqual([1_800_000_000_001, 2])
  expect(ask(1_800_000_000_001_000, 10)).toEqual([1_800_000_000_001, 11])
})
