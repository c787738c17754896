import { expect, test } from 'vitest'
import {
  BEAT_SET,
  Canary,
  type Loss,
  lossOf,
  withLoss,
} from '../../../src/layers/resilience/canary.js'
import type { StoreResult } from '../../../src/store.js'

const MOST = BEAT_SET.policies[0]?.limit as number
const END_US = 3_600_000_000

/** The answer to a beat. */
function numbered(number: number, nowUs: number, endUs = END_US): StoreResult {
  return { nowUs, untilUs: [endUs], policies: [{ remaining: MOST - number }] } as never
}

/** What each of some numbers shows to be lost; the n-th is given n seconds after the beginning. */
function heard(...numbers: readonly number[]): (Loss | undefined)[] {
  const canary = new Canary('beat-1')
  return numbers.map((number, i) => canary.heard(numbered(number, (i + 1) * 1_000_000)))
}

test('a number that grows shows no loss, whether or not each beat was answered', () => {
  expect(heard(1, 2, 3, 7, 8)).toEqual([undefined, undefined, undefined, undefined, undefined])
  expect(heard(41, 42)).toEqual([undefined, undefined])
})

test('a number that was given before shows the loss of all that came after the one before it', () => {
  expect(heard(1, 2, 3, 3).at(-1)).toEqual({ sinceUs: 2_000_000, atUs: 4_000_000, isSure: true })
  expect(heard(1, 2, 3, 2).at(-1)).toEqual({ sinceUs: 1_000_000, atUs: 4_000_000, isSure: true })
  // Of the beats 3 to 6, only the last was answered.
  expect(heard(1, 2, 6, 5).at(-1)).toEqual({ sinceUs: 2_000_000, atUs: 4_000_000, isSure: true })
})

test('a first number, or one from before the first, shows the loss of everything', () => {
  expect(heard(1, 2, 3, 1).at(-1)).toMatchObject({ sinceUs: 0, atUs: 4_000_000 })
  expect(heard(41, 42, 7).at(-1)).toMatchObject({ sinceUs: 0, atUs: 3_000_000 })
})

test('after a loss, the numbers are those of the node', () => {
  expect(heard(1, 2, 3, 2, 3, 4).slice(4)).toEqual([undefined, undefined])
  expect(heard(1, 2, 3, 2, 3, 3).at(-1)).toMatchObject({ sinceUs: 4_000_000 })
  expect(heard(41, 42, 7, 8, 8).at(-1)).toMatchObject({ sinceUs: 3_000_000 })
})

test('a number of a new window shows nothing', () => {
  const canary = new Canary('beat-1')
  canary.heard(numbered(900, 1_000_000))
  expect(canary.heard(numbered(1, END_US, 2 * END_US))).toBeUndefined()
  expect(canary.heard(numbered(1, END_US + 1, 2 * END_US))).toMatchObject({ sinceUs: 0 })
})

test('a thousand beats are remembered with their times', () => {
  const canary = new Canary('beat-1')
  for (let n = 1; n <= 1_200; n += 1) canary.heard(numbered(n, n * 1_000))
  expect(canary.lastUs).toBe(1_200_000)
  expect(canary.heard(numbered(1_000, 1_300_000))).toMatchObject({ sinceUs: 999_000 })
  expect(canary.heard(numbered(150, 1_400_000))).toMatchObject({ sinceUs: 0 })
})

test('of what a node has lost, sixteen times are told apart, and none is forgotten', () => {
  let losses: readonly Loss[] | undefined
  for (let n = 1; n <= 17; n += 1)
    losses = withLoss(losses, { sinceUs: 100 * n, atUs: 100 * n + 10, isSure: n === 2 })
  expect(losses).toHaveLength(16)
  expect([99, 100, 150, 209, 210, 310, 1_705].map((us) => lossOf(losses, us)?.sinceUs)).toEqual([
    ...[undefined, 100, 100, 100, undefined, undefined, 1_700],
  ])
  expect(lossOf(losses, 100)?.isSure).toBe(true)
})
