import { slidingLog } from '@weir/core'
import { stepsOf } from '@weir/testkit'
import { randomOf } from '@weir/testkit/virtual-time'
import { describe, expect, test } from 'vitest'
import { type LogEntry, simulation } from '../src/index.js'
import { isSampled } from '../src/run/shares.js'
import { START_US } from './log-lines.js'

const policies = slidingLog({ limit: 3, window: '1m' })
const KEYS = 2_000

/** Keys, a fifth of which request more than the limit, some of them much more. */
function log(salt: string): LogEntry[] {
  const { next } = randomOf(11)
  const entries: LogEntry[] = []
  for (let key = 0; key < KEYS; key += 1) {
    const requests = key % 5 === 0 ? 4 + Math.floor(next() ** 3 * 40) : 1 + (key % 3)
    for (let i = 0; i < requests; i += 1)
      entries.push({ timeUs: START_US + key * 1_000 + i, key: `${salt}${key}` } as LogEntry)
  }
  return entries.sort((one, other) => one.timeUs - other.timeUs)
}

function runOf(entries: readonly LogEntry[], sample: number) {
  const simulated = simulation({ policies, sample })
  for (const entry of entries) simulated.add(entry)
  const [limiter] = simulated.report().limiters
  const [run] = limiter?.runs ?? []
  if (limiter === undefined || run === undefined) throw new Error('no run')
  return { ...limiter, ...run }
}

describe('a sample', () => {
  test('has one of that many keys, with all of their requests', () => {
    const entries = log('a')
    const whole = runOf(entries, 1)
    const sample = runOf(entries, 16)
    expect(whole).toMatchObject({ keys: KEYS, notSampled: 0, affected: KEYS / 5 })
    expect(whole.affectedShare).toEqual({ share: 0.2 })
    expect(sample.keys).toBeGreaterThan(80)
    expect(sample.keys).toBeLessThan(170)
    expect(sample.notSampled + sample.requests).toBe(entries.length)
    const others = new Map(whole.mostAffected.map((one) => [one.key, one]))
    for (const one of sample.mostAffected.filter(({ key }) => others.has(key)))
      expect(others.get(one.key)).toEqual(one)
  })

  test('has shares that are off by as much as their standard errors say', () => {
    const whole = runOf(log('a'), 1)
    const off = { keys: 0, requests: 0, ofKeys: 0, ofRequests: 0 }
    const samples = stepsOf(80, 400)
    for (let salt = 0; salt < samples; salt += 1) {
      const { affectedShare, refusedShare } = runOf(log(`${salt}-`), 16)
      off.keys += (affectedShare.share - whole.affectedShare.share) ** 2
      off.requests += (refusedShare.share - whole.refusedShare.share) ** 2
      off.ofKeys += (affectedShare.error ?? 0) ** 2
      off.ofRequests += (refusedShare.error ?? 0) ** 2
    }
    // The root mean square of 400 samples is known within 4 %; of 80, within 8 %.
    expect(Math.abs(Math.sqrt(off.keys / off.ofKeys) - 1)).toBeLessThan(0.2)
    expect(Math.abs(Math.sqrt(off.requests / off.ofRequests) - 1)).toBeLessThan(0.2)
  })

  test('of fewer than two keys has no known error', () => {
    const { keys, affectedShare, refusedShare } = runOf(log('a').slice(0, 1), 1_000_000)
    expect(keys).toBeLessThan(2)
    expect([affectedShare.error, refusedShare.error]).toEqual([Number.NaN, Number.NaN])
  })

  test('takes similar keys like any others', () => {
    for (const form of [
      (i: number) => `${i}`,
      (i: number) => `10.0.0.${i}`,
      (i: number) => `u${2 * i}`,
    ]) {
      const count = Array.from({ length: 16_000 }, (_, i) => form(i)).filter((key) =>
        isSampled(key, 16),
      )
      expect(Math.abs(count.length - 1_000)).toBeLessThan(150)
    }
  })
})
