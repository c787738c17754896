// Traffic through a real limiter on the memory store, in the traffic's own time.

import { type Decision, memoryStore, type Policy, RateLimiter } from '@weir/core'
import { MostInWindow } from '../../src/run/most-in-window.js'
import type { Arrival, Traffic } from './traffic.js'

/** The columns into which a picture divides the time. */
export const COLUMNS = 240

export interface Run {
  readonly requests: number
  readonly passed: number
  readonly refused: number
  /** The most that passed for one key in any window, and when the first of them came. */
  readonly most: { readonly count: number; readonly key: number; readonly fromMs: number }
  /** For each request, whether it passed, and what its key had left afterwards. */
  readonly decisions: readonly Pick<Decision, 'allowed' | 'remaining'>[]
  readonly columns: Columns
}

/** Figures for each column of the picture. */
export interface Columns {
  readonly passed: readonly number[]
  readonly refused: readonly number[]
  /** What is left at the end of the column, for each key. */
  readonly left: readonly (readonly number[])[]
}

/** The column that a time belongs to. */
function columnOf(atMs: number, endMs: number): number {
  return Math.min(COLUMNS - 1, Math.floor((atMs * COLUMNS) / endMs))
}

/** @param windowMs the window in which passed requests are counted */
export function runOf(policy: Policy, traffic: Traffic, windowMs: number): Run {
  const { arrivals, keys, startMs, endMs } = traffic
  let nowMs = startMs
  const store = memoryStore({ clock: { nowUs: () => nowMs * 1_000 } })
  const limiter = new RateLimiter({ name: 'api', store, policy })
  // The memory store answers at once.
  const decide = (key: number, cost: number): Decision =>
    limiter.decide(keys[key] as string, { cost }) as Decision

  const decisions: Decision[] = []
  const measure = new MostInWindow(windowMs)
  const columns = {
    passed: new Array<number>(COLUMNS).fill(0),
    refused: new Array<number>(COLUMNS).fill(0),
    left: keys.map(() => new Array<number>(COLUMNS).fill(0)),
  }
  let next = 0
  for (let column = 0; column < COLUMNS; column += 1) {
    for (; next < arrivals.length; next += 1) {
      const { atMs, key } = arrivals[next] as Arrival
      if (columnOf(atMs, endMs) > column) break
      nowMs = startMs + atMs
      const decision = decide(key, 1)
      decisions.push(decision)
      if (decision.allowed) measure.pass(key, 1, atMs)
      const counts = decision.allowed ? columns.passed : columns.refused
      counts[column] = (counts[column] as number) + 1
    }
    nowMs = Math.max(nowMs, startMs + Math.ceil(((column + 1) * endMs) / COLUMNS) - 1)
    // A cost of 0 writes nothing and tells what is left.
    columns.left.forEach((left, key) => {
      left[column] = decide(key, 0).remaining
    })
  }
  limiter.close()
  store.close()

  const passing = arrivals.filter((_, i) => decisions[i]?.allowed)
  const { units: count, key, at } = measure.most ?? { units: 0, key: 0, at: 0 }
  const first = passing.find((each) => each.key === key && each.atMs > at - windowMs)
  const most = { count, key, fromMs: first?.atMs ?? 0 }
  const [requests, passed] = [arrivals.length, passing.length]
  return { requests, passed, refused: requests - passed, most, decisions, columns }
}
