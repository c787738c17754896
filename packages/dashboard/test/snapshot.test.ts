// What processes report to each other about themselves.

import { expect, test } from 'vitest'
import {
  LONGEST_SNAPSHOT,
  processFrame,
  type Snapshot,
  textOfSnapshot,
} from '../src/collect/snapshot.js'

function snapshotOf(limiters: number, key = 'al…~1f2a'): Snapshot {
  return {
    atMs: 1_800_000_000_000,
    health: 'half-open',
    memoryBytes: 123_456_789,
    uptimeMs: 98_765,
    limiters: Array.from({ length: limiters }, (_, i) => ({
      name: `limiter-${i}`,
      enabled: i % 2 === 0,
      allowed: 1_000 * i,
      denied: i,
      shadowDenied: 1,
      degraded: 2,
      errors: 3,
      waiting: 4,
      refusedKeys: Array.from({ length: 5 }, (_, place) => ({ key, count: 9 - place, error: 1 })),
    })),
  }
}

const reread = (text: string) => processFrame({ process: 'host-1-abc', text })

test('a snapshot is read as it was written, the busiest limiters first', () => {
  const snapshot = snapshotOf(3)
  expect(reread(textOfSnapshot(snapshot))).toEqual({
    ...snapshot,
    process: 'host-1-abc',
    isThis: false,
    limiters: snapshot.limiters.toReversed(),
  })
})

test.each([0, 1, 10, 40, 200, 1_000])('with %i limiters it has at most 4 kB', (limiters) => {
  for (const key of ['k', '…'.repeat(60), '\u0000'.repeat(60), '\ud800'.repeat(60)]) {
    const text = textOfSnapshot(snapshotOf(limiters, key))
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LONGEST_SNAPSHOT)
    const read = reread(text)
    expect(read?.limiters.length).toBeGreaterThanOrEqual(Math.min(limiters, 40))
    // The limiters with the fewest decisions are left out.
    if (limiters > 0) expect(read?.limiters[0]?.name).toBe(`limiter-${limiters - 1}`)
  }
})

test.each([
  '',
  'null',
  '{}',
  '[]',
  '[1]',
  '[2,0,"closed",0,0,[]]',
  '[1,0,"broken",0,0,[]]',
  '[1,"0","closed",0,0,[]]',
  '[1,0,"closed",1e999,0,[]]',
  '[1,0,"closed",0,0,{}]',
  '[1,0,"closed",0,0,[[]]]',
  '[1,0,"closed",0,0,[["a",1,0,0,0,0,0,"0",[]]]]',
  '[1,0,"closed",0,0,[["a",1,0,0,0,0,0,0,[["k","1",0]]]]]',
])('%s is not a snapshot', (text) => {
  expect(reread(text)).toBeUndefined()
})

test('a snapshot that is too long is ignored', () => {
  const textOf = (length: number): string => '[1,0,"closed",0,0,[]]'.padEnd(length)
  expect(reread(textOf(LONGEST_SNAPSHOT))).toBeDefined()
  expect(reread(textOf(LONGEST_SNAPSHOT + 1))).toBeUndefined()
})

test('names from others are cut', () => {
  const long = 'x'.repeat(1_000)
  const read = processFrame({
    process: long,
    text: JSON.stringify([1, 0, 'closed', 0, 0, [[long, 1, 0, 0, 0, 0, 0, 0, [[long, 1, 0]]]]]),
  })
  expect(read?.process).toHaveLength(128)
  expect(read?.limiters[0]?.name).toHaveLength(128)
  expect(read?.limiters[0]?.refusedKeys[0]?.key).toHaveLength(128)
})
