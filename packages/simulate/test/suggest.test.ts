// A limit is found as by hand: by a simulation at each limit, from the largest down, until one
// refuses too much.

import { type Policy, RateLimiter, slidingLog, slidingWindow } from '@weir/core'
import type { Algorithm } from '@weir/core/store'
import { descriptionOf } from '@weir/core/testing'
import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { type LogEntry, type SuggestionOptions, simulation, suggestion } from '../src/index.js'
import { adviceOf, withMargin } from '../src/suggest/advice.js'
import { SUGGESTED } from '../src/suggest/candidates.js'
import { Entries } from '../src/suggest/entries.js'
import { START_US } from './log-lines.js'

const policyOf = (algorithm: Algorithm, limit: number): Policy =>
  descriptionOf(algorithm)?.of(limit, WINDOW) as Policy

interface Log {
  readonly entries: readonly LogEntry[]
  /** All costs together: no larger limit refuses anything. */
  readonly units: number
}

function logs(most: { entries: number; cost: number; wait: number }): fc.Arbitrary<Log> {
  const entry = fc.record({
    us: fc.oneof(fc.constant(0), fc.nat(1_000), fc.nat(most.wait * 1_000)),
    key: fc.nat(4),
    cost: most.cost === 1 ? fc.constant(1) : fc.nat(most.cost),
  })
  return fc.array(entry, { minLength: 1, maxLength: most.entries }).map((some) => {
    let timeUs = START_US + 1
    const entries = some.map(({ us, key, cost }) => {
      timeUs += us
      return { timeUs, key: `k${key}`, cost } as LogEntry
    })
    return { entries, units: some.reduce((sum, { cost }) => sum + cost, 0) }
  })
}

/** The share that a limit refuses, according to a simulation. */
function shareAt(policy: Policy, { entries }: Log, of: 'keys' | 'requests'): number {
  const simulated = simulation({ policies: policy })
  for (const entry of entries) simulated.add(entry)
  const [run] = simulated.report().limiters[0]?.runs ?? []
  return (of === 'keys' ? run?.affectedShare.share : run?.refusedShare.share) ?? 0
}

/** The smallest limit that, like all larger ones, refuses no larger share. */
function byHand(
  algorithm: Algorithm,
  log: Log,
  { of, affect, least }: { of: 'keys' | 'requests'; affect: number; least: number },
): number {
  // From 62 on, `slidingWindow` counts more coarsely than at 61, and so may need a larger limit.
  let limit = Math.max(log.units, 63)
  while (limit > least) {
    const policy = policyOf(algorithm, limit - 1)
    if (shareAt(policy, log, of) > affect + 1e-12) break
    limit -= 1
  }
  return limit
}

const WINDOW = 100

function suggested(options: Omit<SuggestionOptions, 'windows'>, { entries }: Log) {
  const search = suggestion({ ...options, windows: [WINDOW] })
  for (const entry of entries) search.add(entry)
  const { windows } = search.report()
  expect(windows).toHaveLength(1)
  return windows[0] as (typeof windows)[number]
}

const alike = logs({ entries: 40, cost: 1, wait: 40 })
const costly = logs({ entries: 20, cost: 5, wait: 60 })
const affects = fc.constantFrom(0, 0.1, 0.25, 0.34, 0.5, 1)

describe.each(SUGGESTED)('%s', (algorithm) => {
  const least = /bucket|gcra/.test(algorithm) ? 1 : 0

  test.each(['keys', 'requests'] as const)('is found as by hand, by %s', (of) => {
    fc.assert(
      fc.property(fc.oneof(alike, costly), affects, (log, affect) => {
        const { limit, isSmallest } = suggested({ algorithm, of, affect }, log)
        expect([limit, isSmallest]).toEqual([byHand(algorithm, log, { of, affect, least }), true])
      }),
      { numRuns: stepsOf(8, 200) },
    )
  })

  test('its curve has the result of a simulation at each of its limits', () => {
    fc.assert(
      fc.property(logs({ entries: 60, cost: 3, wait: 20 }), affects, (log, affect) => {
        const { curve, limit } = suggested({ algorithm, of: 'requests', affect }, log)
        expect(curve.map((point) => point.limit)).toContain(limit)
        for (const point of curve.slice(0, 6)) {
          const policy = policyOf(algorithm, point.limit)
          expect(point.affectedShare.share).toBe(shareAt(policy, log, 'keys'))
          expect(point.refusedShare).toBeCloseTo(shareAt(policy, log, 'requests'), 12)
        }
      }),
      { numRuns: stepsOf(4, 50) },
    )
  })
})

test('is found as by hand where keys need limits on both sides of 62', () => {
  const busy = logs({ entries: 160, cost: 1, wait: 3 })
  fc.assert(
    fc.property(busy, affects, fc.boolean(), (log, affect, isOfKeys) => {
      const [algorithm, of] = ['sliding-window', isOfKeys ? 'keys' : 'requests'] as const
      const { limit } = suggested({ algorithm, of, affect }, log)
      expect(limit).toBe(byHand(algorithm, log, { of, affect, least: 0 }))
    }),
    {
      numRuns: stepsOf(4, 50),
      examples: [
        [both(), 0.5, true],
        [both(), 0.34, false],
      ],
    },
  )
})

/** A key that needs a limit of 70, one that needs 30, and one that needs 63. */
function both(): Log {
  const entries = [70, 30, 63].flatMap((count, key) =>
    Array.from({ length: count }, () => ({ timeUs: START_US + 1, key: `k${key}`, cost: 1 })),
  ) as unknown as LogEntry[]
  return { entries, units: 163 }
}

test('keys that no limit of a range can refuse are not replayed', () => {
  const decide = vi.spyOn(RateLimiter.prototype, 'decide')
  const replayed = (algorithm: Algorithm, times: readonly number[]): number => {
    decide.mockClear()
    const entries = times.map((ms) => ({ timeUs: START_US + 1 + ms * 1_000, key: 'k', cost: 1 }))
    suggested({ algorithm, affect: 0 }, { entries: entries as unknown as LogEntry[], units: 0 })
    return decide.mock.calls.length
  }
  const every = (ms: number, count: number) => Array.from({ length: count }, (_, i) => i * ms)
  try {
    // Below a limit of 62, and not also above: it has only 40 requests, or at most 20 in a window.
    expect(replayed('sliding-window', every(0, 40))).toBe(40)
    expect(replayed('sliding-window', every(5, 100))).toBe(100)
    // Above as well: it has 50 in a window, so it might have 62 in a window and a part.
    expect(replayed('sliding-window', every(2, 100))).toBe(200)
    // Above as well, because its clock goes back, which no bound is for.
    expect(replayed('sliding-window', every(5, 9_000))).toBe(9_000)
    expect(replayed('sliding-window', [...every(5, 9_000), 0])).toBe(2 * 9_001)
    // At the limit of 1, and not also at 2.
    expect(replayed('token-bucket', every(0, 2))).toBe(2)
  } finally {
    decide.mockRestore()
  }
})

test('a log of too many requests is refused, with what is most and what to do', () => {
  const entries = new Entries(1, 1_000)
  for (let i = 0; i < 1_000; i += 1) entries.add(START_US, 0, 1)
  expect(() => entries.add(START_US, 0, 1)).toThrow(
    /more than 1,000 requests, and a search keeps no more in memory; take one key in 16, with --sample 1\/16/,
  )
})

/** One key, with a burst that passes at 61 exactly, and at 62 must wait for the end of a part. */
function burst(first = 61, second = 30): Log {
  // From a limit of 62 on, windows of 100 ms are counted in parts of 2 ms.
  const times = [
    ...Array.from({ length: first }, () => 0),
    ...Array.from({ length: second }, () => 100_001),
  ]
  const entries = times.map((us) => ({ timeUs: START_US + 1 + us, key: 'k', cost: 1 }) as LogEntry)
  return { entries, units: times.length }
}

test('if a larger limit refuses more than a smaller one, the smaller one is not suggested', () => {
  const log = burst()
  const refusedAt = (limit: number) =>
    shareAt(slidingWindow({ limit, window: WINDOW }), log, 'keys')
  expect([60, 61, 62, 90, 91].map(refusedAt)).toEqual([1, 0, 1, 1, 0])
  const { limit } = suggested({ affect: 0 }, log)
  expect(limit).toBe(91)
})

test.each([
  [31, 31, 31],
  [32, 31, 63],
  [32, 32, 64],
])('a key with %i and %i requests in a window and a part needs %i', (first, second, needed) => {
  const log = burst(first, second)
  expect(suggested({ affect: 0 }, log).limit).toBe(needed)
  expect(byHand('sliding-window', log, { of: 'keys', affect: 0, least: 0 })).toBe(needed)
})

test('a limit that suffices, between two that do not, is not suggested', () => {
  const entries = [4, 1, 1, 1].map((cost) => ({ timeUs: START_US + 1, key: 'k', cost }) as LogEntry)
  const log = { entries, units: 7 }
  const refusedAt = (limit: number) =>
    shareAt(slidingLog({ limit, window: WINDOW }), log, 'requests')
  // At 3 the large request is refused, and the small ones pass.
  expect([2, 3, 4, 5, 6, 7].map(refusedAt)).toEqual([0.5, 0.25, 0.75, 0.5, 0.25, 0])
  const { limit } = suggested({ algorithm: 'sliding-log', of: 'requests', affect: 0.25 }, log)
  expect(limit).toBe(6)
})

test('the default is a sliding window of 1 s, 10 s, 1 min and 1 h, by the refused keys', () => {
  const search = suggestion({ affect: 0.1 })
  for (let i = 0; i < 100; i += 1)
    search.add({ timeUs: START_US + 1 + i * 1e6, ip: `10.0.0.${i % 3}` } as LogEntry)
  const report = search.report()
  expect(report).toMatchObject({ algorithm: 'sliding-window', of: 'keys', requests: 100, keys: 3 })
  expect(report.windows.map(({ windowMs, limit }) => [windowMs, limit])).toEqual([
    [1_000, 1],
    [10_000, 4],
    [60_000, 20],
    [3_600_000, 34],
  ])
})

test('for a log with whole seconds, there is a limit for each reading of it', () => {
  const search = suggestion({ affect: 0, windows: ['1s', '500ms'], algorithm: 'sliding-log' })
  for (let i = 0; i < 40; i += 1)
    search.add({ timeUs: START_US + Math.floor(i / 4) * 1e6, ip: '10.0.0.1' } as LogEntry)
  const found = search
    .report()
    .windows.map(({ windowMs, times, limit }) => [windowMs, times, limit])
  expect(found).toEqual([
    [1_000, 'start', 4],
    [1_000, 'spread', 4],
    [500, 'start', 4],
    [500, 'spread', 2],
  ])
})

test('requests without a key or a cost, and skipped ones, take no part', () => {
  const search = suggestion({
    affect: 0,
    windows: ['1m'],
    skip: ({ status }) => status === 304,
    cost: ({ bytes = Number.NaN }) => bytes,
  })
  const of = (more: object) =>
    search.add({ timeUs: START_US + 1, ip: 'a', bytes: 2, ...more } as LogEntry)
  for (const more of [{}, { ip: undefined }, { bytes: undefined }, { status: 304 }, {}]) of(more)
  const { requests, keys, withoutKey, withoutCost, skipped, windows } = search.report()
  expect([requests, keys, withoutKey, withoutCost, skipped]).toEqual([2, 1, 1, 1, 1])
  expect(windows[0]?.limit).toBe(4)
})

/** The wide stretches of limits that affect equally many keys, by a simulation at each limit. */
function plateausByHand(algorithm: Algorithm, log: Log, keys: number) {
  const affected = Array.from({ length: Math.max(log.units, 63) }, (_, i) =>
    Math.round(keys * shareAt(policyOf(algorithm, i + 1), log, 'keys')),
  )
  const all: { affected: number; from: number; to: number }[] = []
  for (const [i, count] of affected.entries()) {
    const last = all.at(-1)
    if (last?.affected === count) last.to = i + 1
    else all.push({ affected: count, from: i + 1, to: i + 1 })
  }
  return all.filter(
    ({ affected: count, from, to }) => count > 0 && count <= keys / 10 && (to + 1) / from >= 3,
  )
}

/** Requests of 20 keys, of which the first two may have many more than the others, in any order. */
const abused: fc.Arbitrary<Log> = fc
  .record({
    ordinary: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 18, maxLength: 18 }),
    others: fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 50 })),
    everyUs: fc.constantFrom(0, 10, 400, 1_500),
  })
  .map(({ ordinary, others, everyUs }) => {
    const entries = [...others, ...ordinary].flatMap((count, key) =>
      Array.from(
        { length: count },
        (_, i) =>
          ({ timeUs: START_US + 1 + i * everyUs + key, key: `k${key}`, cost: 1 }) as LogEntry,
      ),
    )
    entries.sort((one, other) => one.timeUs - other.timeUs)
    return { entries, units: entries.length }
  })

describe('plateaus', () => {
  test.each(SUGGESTED)('are found as by hand, for %s', (algorithm) => {
    fc.assert(
      fc.property(abused, affects, (log, affect) => {
        const { plateaus, curve } = suggested({ algorithm, affect }, log)
        expect(plateaus).toMatchObject(plateausByHand(algorithm, log, 20))
        const at = (limit: number) => curve.find((point) => point.limit === limit)?.affected
        for (const { affected, from, keys } of plateaus) {
          expect(keys.length).toBe(Math.min(5, affected))
          expect(at(from)).toBe(affected)
          if (from > 1) expect(at(from - 1)).toBeGreaterThan(affected)
        }
      }),
      { numRuns: stepsOf(4, 100) },
    )
  })

  test('have at most one key in ten, and are wide', () => {
    const of = (counts: readonly number[]) => {
      const entries = counts.flatMap((count, key) =>
        Array.from({ length: count }, () => ({ timeUs: START_US + 1, key: `k${key}`, cost: 1 })),
      ) as unknown as LogEntry[]
      return suggested({ algorithm: 'sliding-log', affect: 0 }, { entries, units: 0 }).plateaus
    }
    const ordinary = Array.from({ length: 18 }, () => 4)
    expect(of([...ordinary, 13, 11])).toEqual([])
    expect(of([...ordinary, 13, 12])).toEqual([
      { affected: 2, from: 4, to: 11, keys: ['k18', 'k19'] },
    ])
    expect(of([...ordinary, 36, 12])).toEqual([
      { affected: 2, from: 4, to: 11, keys: ['k18', 'k19'] },
      { affected: 1, from: 12, to: 35, keys: ['k18'] },
    ])
    expect(of([...ordinary, 13, 13, 13])).toEqual([])
  })
})

describe('the advice', () => {
  test.each([
    [0, 1_000, 1],
    [1, 1_000, 2],
    [2, 1_000, 3],
    [17, 2_498, 30],
    [38, 235, 60],
    [500, 1e9, 800],
    [1_000, 1e9, 1_500],
    // Not above the most: the largest round number, or the limit that is needed.
    [38, 55, 50],
    [38, 39, 38],
  ])('for %i, and at most %i, is %i', (needed, most, limit) => {
    expect(withMargin(needed, most)).toBe(limit)
  })

  const DAY_MS = 86_400_000
  const keys: readonly string[] = []
  const plateau = { affected: 8, from: 17, to: 2_498, keys }
  const searched = (
    windowMs: number,
    limit: number | undefined,
    plateaus = [plateau].slice(1),
  ) => ({
    ...{ windowMs, limit, plateaus },
  })

  test('is for the window in which a few keys stand out furthest', () => {
    const windows = [
      searched(60_000, 90, [{ affected: 2, from: 20, to: 80, keys: ['other'] }]),
      searched(3_600_000, 2_499, [{ affected: 9, from: 10, to: 30, keys }, plateau]),
    ]
    expect(adviceOf(windows, DAY_MS, () => 1e9)).toEqual({
      ...{ windowMs: 3_600_000, needed: 2_499, limit: 4_000 },
      abusers: { ...plateau, limit: 30 },
      fewer: undefined,
    })
  })

  test('also names the shorter window that singles out the fewest of these keys', () => {
    const [one, two] = [
      { affected: 1, from: 18, to: 277, keys: ['a'] },
      { affected: 2, from: 27, to: 9_999, keys: ['a', 'b'] },
    ] as const
    const windows = [
      searched(10_000, 80, [{ affected: 1, from: 8, to: 79, keys: ['c'] }, two]),
      searched(60_000, 278, [one]),
      searched(3_600_000, 12_000, [two]),
      searched(7_200_000, 12_000, [{ ...one, to: 999 }]),
    ]
    const advice = adviceOf(windows.slice(1), DAY_MS, () => 1e9)
    expect(advice).toMatchObject({ windowMs: 3_600_000, abusers: two })
    expect(advice?.fewer).toEqual({ ...one, windowMs: 60_000, limit: 30 })
    expect(adviceOf(windows, DAY_MS, () => 1e9)?.fewer).toBeUndefined()
  })

  test('is for no window that is longer than the log, unless all are', () => {
    const windows = [searched(10_000, 40), searched(3_600_000, 2_499, [plateau])]
    expect(adviceOf(windows, 3_599_999, () => 1e9)).toMatchObject({ windowMs: 10_000 })
    expect(adviceOf(windows, 0, () => 1e9)).toMatchObject({ windowMs: 10_000 })
    expect(adviceOf(windows, 3_600_000, () => 1e9)).toMatchObject({ windowMs: 3_600_000 })
  })

  test('is one limit, if the one that is needed refuses these keys alone', () => {
    const windows = [searched(60_000, 17, [plateau])]
    expect(adviceOf(windows, DAY_MS, () => 1e9)).toMatchObject({ limit: 30, abusers: undefined })
  })

  test('is else for the window nearest to a minute, and for the stricter reading of the log', () => {
    const windows = [searched(1_000, 5), searched(10_000, 40), searched(10_000, 60)]
    expect(adviceOf(windows, DAY_MS, () => 1e9)).toMatchObject({
      windowMs: 10_000,
      needed: 60,
      limit: 100,
    })
    expect(adviceOf([searched(1_000, undefined)], DAY_MS, () => 1e9)).toBeUndefined()
  })
})

test('if no limit is large enough, there is none', () => {
  const search = suggestion({ affect: 0, windows: ['1s'], algorithm: 'token-bucket' })
  search.add({ timeUs: START_US + 1, key: 'k', cost: 80_000 } as LogEntry)
  expect(search.report().windows[0]?.limit).toBeUndefined()
})

test.each<[Partial<SuggestionOptions>, RegExp]>([
  [{ affect: 1.5 }, /affect is 1.5; give a part from 0 to 1/],
  [{ affect: Number.NaN }, /affect is NaN/],
  [{ of: 'users' as 'keys' }, /of is "users"; give 'keys' or 'requests'/],
  [{ windows: [] }, /windows is \[\]/],
  [{ windows: ['soon' as '1s'] }, /soon/],
  [{ algorithm: 'lockout' as 'gcra' }, /algorithm is "lockout"; give token-bucket/],
  [{ maxKeys: -1 }, /maxKeys is -1/],
])('%o is refused', (options, message) => {
  expect(() => suggestion({ affect: 0.1, ...options })).toThrow(message)
})
