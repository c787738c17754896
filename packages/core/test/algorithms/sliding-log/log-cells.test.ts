// The memory of a log in this process: as many numbers as it needs now, whatever was requested
// before.

import { expect, test } from 'vitest'
import type { Cells } from '../../../src/algorithms/algorithm.js'
import { slidingLog } from '../../../src/algorithms/sliding-log/kernel.js'
import { EPOCH_MS } from '../../../src/base/clock.js'

const limit = 10

/** The cells after a request at each of these times; `all` collects those in between. */
function cellsAfter(times: readonly number[], quantumMs = 1, all: Set<Cells> = new Set()): Cells {
  const scratch = slidingLog.prepare([limit, 1_000, quantumMs])
  let cells: Cells = new Float64Array(0)
  for (const ms of times) {
    slidingLog.read(scratch, cells.length > 0 ? cells : undefined, 0, (EPOCH_MS + ms) * 1_000)
    if (slidingLog.used(scratch) >= limit) continue
    slidingLog.take(scratch, 1)
    cells = slidingLog.write(scratch, cells, 0)
    all.add(cells)
  }
  return cells
}

test('requests in one tick are one entry', () => {
  expect(cellsAfter([5]).length).toBe(cellsAfter(Array(limit).fill(5)).length)
  expect(cellsAfter([5]).length).toBe(cellsAfter([5, 50, 99], 100).length)
  expect(cellsAfter([1, 1, 2, 2, 3, 3]).length).toBe(cellsAfter([1, 2, 3]).length)
})

test('a log that is used forever takes no more room than a full one', () => {
  const full = cellsAfter(Array.from({ length: limit }, (_, i) => i))
  const arrays = new Set<Cells>()
  const old = cellsAfter(
    Array.from({ length: 50_000 }, (_, i) => 7 * i),
    1,
    arrays,
  )
  expect(full.length).toBeLessThanOrEqual(3 + 4 * limit)
  expect(old.length).toBeLessThanOrEqual(2 * full.length)
  // At that size, no more arrays are made.
  expect(arrays.size).toBeLessThan(10)
})
