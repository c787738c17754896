import { fixedWindow, slidingLog, slidingWindow } from '@weir/core'
import { describe, expect, test } from 'vitest'
import type { RunReport } from '../src/index.js'
import { HELD_BACK } from '../src/run/reorder.js'
import { START_US } from './log-lines.js'
import { at, EXACT_US, first, S, simulate } from './simulate.js'

const policies = slidingLog({ limit: 2, window: '10s' })

describe('time', () => {
  test('neighbours that are out of order are sorted, and nothing went back', () => {
    const seconds = Array.from({ length: 200 }, (_, i) => i / 10)
    const shuffled = seconds.map((_, i) => seconds[(i * 77) % 200] as number)
    const ordered = simulate({ policies }, at(seconds))
    const report = simulate({ policies }, at(shuffled))
    expect(report).toEqual(ordered)
    expect(report.order).toEqual({ heldBack: 8_192, wentBack: 0, furthestMs: 0 })
  })

  test('a clock that is set back is counted, and never lets more pass', () => {
    const back = Array.from({ length: HELD_BACK + 10 }, (_, i) => 3_600 + i / 10)
    const lines = at([...back, ...back.map((second) => second - 1_800)])
    const report = simulate({ policies: slidingWindow({ limit: 5, window: '10s' }) }, lines)
    expect(report.entries).toBe(lines.length)
    expect(report.order.wentBack).toBeGreaterThan(0)
    expect(report.order.furthestMs).toBeGreaterThan(1_000_000)
    const most = first(report).run.policies[0]?.mostInWindow
    expect(most?.units).toBe(5)
  })

  test('only entries from `fromUs` on and before `toUs` count', () => {
    const range = { fromUs: EXACT_US + S, toUs: EXACT_US + 3 * S }
    const report = simulate({ policies, ...range }, at([0, 1, 2, 3, 4]))
    expect(report).toMatchObject({ entries: 2, outsideRange: 3 })
  })

  test('a log with whole seconds is read in two ways, and both results are given', () => {
    const lines = [0, 0, 0, 0, 1, 1].map((second) => ({ timeUs: START_US + second * S }))
    const half = slidingLog({ limit: 2, window: '500ms' })
    const report = simulate({ policies: half }, lines)
    expect(report.isCoarse).toBe(true)
    const { runs } = first(report)
    expect(runs.map(({ times, refused }) => [times, refused])).toEqual([
      ['start', 2],
      ['spread', 0],
    ])
  })

  test('in a log with whole seconds, other times stay as they are', () => {
    const many = Array.from({ length: HELD_BACK + 1 }, () => ({ timeUs: START_US }))
    const lines = [...many, { timeUs: START_US + S + 300_000 }, { timeUs: START_US + 2 * S }]
    const report = simulate({ policies: slidingLog({ limit: 1, window: '1s' }) }, lines)
    const passed = first(report).runs.map(({ refused }) => lines.length - refused)
    expect(passed).toEqual([2, 2])
  })

  test.each([1999, 2012, 2024, 2049, 2200])(
    'a log of the year %i is decided like one of today, and reported with its own times',
    (year) => {
      const movedUs = Date.UTC(year, 2, 4, 5, 6, 7) * 1_000 + 1
      const input = [
        fixedWindow({ name: 'aligned', limit: 3, window: '7s', aligned: true }),
        slidingWindow({ name: 'parts', limit: 70, window: '10s' }),
      ]
      const at0 = Array.from({ length: 200 }, (_, i) => i / 8)
      // Windows on a grid have fixed places from 1970 on.
      const gridUs = 7 * 167 * 60 * 1_000 * 1_000
      const todayUs = EXACT_US + ((movedUs - EXACT_US) % gridUs)
      const runAt = (startUs: number) => {
        const lines = at0.map((second) => ({ timeUs: startUs + second * S }))
        const [run] = first(simulate({ policies: input }, lines)).runs as [RunReport]
        const { refused, mostAffected, policies: of } = run
        const { firstRefusedUs = 0 } = mostAffected[0] ?? {}
        return {
          refused,
          after: firstRefusedUs - startUs,
          refusals: of.map((each) => each.refusals),
        }
      }
      expect(runAt(movedUs)).toEqual(runAt(todayUs))
      expect(runAt(movedUs).refused).toBeGreaterThan(0)
    },
  )

  test('calendar windows are not moved to another year', () => {
    const day = fixedWindow({ limit: 3, window: 'day' })
    const lines = [{ timeUs: Date.UTC(2012, 2, 4) * 1_000 }]
    expect(() => simulate({ policies: day }, lines)).toThrow(
      /the log is of "2012-03-04T00:00:00.000Z", outside of the years 2025 to 2045, and a window of/,
    )
  })

  test('a line from another decade is left out and counted', () => {
    const lines = [...at([0, 1, 2]), { timeUs: Date.UTC(1970, 0, 2) * 1_000 }, ...at([3])]
    const report = simulate({ policies }, lines)
    expect(report).toMatchObject({ entries: 4, outsideYears: 1, firstUs: EXACT_US })
  })
})
