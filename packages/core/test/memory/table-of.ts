// Tables of the memory store, for tests.

import type { Kernel, PolicyNumbers } from '../../src/algorithms/algorithm.js'
import { type Counter, decide } from '../../src/algorithms/driver.js'
import { EPOCH_MS } from '../../src/base/clock.js'
import { KeyMarks } from '../../src/memory/marks.js'
import { MemoryTable } from '../../src/memory/table.js'

export const KINDS = ['exact', 'fingerprint'] as const
export const NOW_MS: number = EPOCH_MS + 10 ** 10
export const HOUR_MS = 3_600_000
/** Five at once, and one an hour. */
export const HOURLY: PolicyNumbers = [5, 5 * HOUR_MS * 8_000, 10 * HOUR_MS * 8_000]

export function tableOf(
  kernel: Kernel,
  bounds: Partial<ConstructorParameters<typeof MemoryTable>[1]>,
): MemoryTable {
  const all = { maxKeys: 2 ** 24, slackMs: 0, keys: 'exact', ...bounds } as const
  return new MemoryTable(kernel, all, new KeyMarks(all).ofTable('table'))
}

/** Takes units of a key. Returns how many are left, or -1 if there were too few. */
export function asking(
  table: MemoryTable,
  kernel: Kernel,
  numbers: PolicyNumbers,
): (key: string, nowMs?: number, cost?: number) => number {
  table.use(numbers)
  const counter: Counter = { kernel, scratch: kernel.prepare(numbers), table, slot: -1 }
  const readings = [{ left: 0, waitMs: 0, resetUs: 0 }]
  return (key: string, nowMs = NOW_MS, cost = 1): number => {
    const nowUs = nowMs * 1_000
    const granted = decide([counter], [key], { mode: 'consume', costs: [cost] }, nowUs, readings)
    return granted > 0 ? (readings[0] as { left: number }).left : -1
  }
}
