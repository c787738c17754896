// The table of keys and states in the memory store, compared with a Map.

import { stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { States } from '../../src/memory/states.js'

/** Stores one number for each key. */
function twins(keepsTexts: boolean) {
  const states = new States({ width: 1, maxKeys: 100_000, keepsTexts })
  const model = new Map<string, number>()
  const valueAt = (slot: number) => {
    states.select(slot)
    return states.cells[states.offset] as number
  }
  return {
    states,
    model,
    valueAt,
    set(key: string, value: number) {
      const found = states.find(key)
      if (found >= 0 !== model.has(key)) expect(found, key).toBe(model.has(key))
      if (found < 0) states.add(key)
      states.cells[states.offset] = value
      states.keep(value, value % 3 === 0 ? new Float64Array([value]) : undefined)
      model.set(key, value)
    },
    delete(key: string) {
      const slot = states.find(key)
      if (slot >= 0 !== model.has(key)) expect(slot, key).toBe(model.has(key))
      if (slot >= 0) states.remove(slot)
      model.delete(key)
    },
    /** Removes the next key of a walk. */
    deleteNext() {
      const slot = states.walk()
      if (slot < 0) return
      const value = valueAt(slot)
      const owner = [...model].find(([, each]) => each === value)?.[0] as string
      states.remove(slot)
      expect(states.find(owner)).toBe(-1)
      model.delete(owner)
    },
    check() {
      expect(states.count).toBe(model.size)
      for (const [key, value] of model) {
        const slot = states.find(key)
        if (slot < 0) expect(key).toBe('found')
        if (valueAt(slot) !== value || states.untilOf(slot) !== value) expect(key).toBe(value)
        const large = states.large?.[0]
        if (large !== (value % 3 === 0 ? value : undefined)) expect(large).toBe(value)
      }
    },
  }
}

describe.each([['texts', true] as const, ['fingerprints', false] as const])(
  'a table of %s',
  (_, keepsTexts) => {
    test('does what a Map does', () => {
      const key = fc.oneof(
        fc.integer({ min: 0, max: 60 }).map((i) => `k${i}`),
        fc.constantFrom('', '__proto__', 'constructor', '\ud800', '\udfff', '\0', 'x'.repeat(300)),
      )
      const step = fc.oneof(
        { weight: 3, arbitrary: key.map((name) => ['set', name] as const) },
        { weight: 2, arbitrary: key.map((name) => ['delete', name] as const) },
        { weight: 1, arbitrary: fc.constant(['next', ''] as const) },
      )
      fc.assert(
        fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
          const both = twins(keepsTexts)
          steps.forEach(([what, name], i) => {
            if (what === 'set') both.set(name, i)
            else if (what === 'delete') both.delete(name)
            else both.deleteNext()
          })
          both.check()
        }),
        { numRuns: stepsOf(50, 2_000) },
      )
    })

    test('also does so while it grows to many segments and shrinks again', () => {
      const both = twins(keepsTexts)
      let random = 1
      const next = (below: number) => {
        random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
        return Math.floor((random / 2 ** 32) * below)
      }
      for (const [keys, steps] of [
        [20_000, 40_000],
        [3_000, 10_000],
        [20_000, 15_000],
      ] as const) {
        for (let i = 0; i < steps; i += 1) {
          const key = `key-${next(keys)}`
          if (next(3) > 0) both.set(key, i)
          else both.delete(key)
        }
        both.check()
        for (const key of [...both.model.keys()].slice(500)) both.delete(key)
        both.check()
      }
    })

    test('is walked through in rounds that visit each key', () => {
      const both = twins(keepsTexts)
      for (let i = 0; i < 20_000; i += 1) both.set(`key-${i}`, i)
      const seen = new Set<number>()
      for (let i = 0; i < 20_000; i += 1) seen.add(both.valueAt(both.states.walk()))
      expect(seen.size).toBe(20_000)
    })

    test('skips no key that is there all the time while a walk removes others', () => {
      const both = twins(keepsTexts)
      for (let i = 0; i < 20_000; i += 1) both.set(`key-${i}`, i)
      const seen = new Set<number>()
      for (let i = 0; i < 30_000; i += 1) {
        const slot = both.states.walk()
        if (slot < 0) continue
        const value = both.valueAt(slot)
        if (value % 2 === 0) both.states.remove(slot)
        else seen.add(value)
      }
      expect(both.states.count).toBeLessThan(10_100)
      expect(seen.size).toBeGreaterThan(9_900)
    })
  },
)

test('a long text is kept as a short one that only the process can compute', () => {
  const states = new States({ width: 1, maxKeys: 100_000, keepsTexts: true })
  const long = 'x'.repeat(2 ** 20)
  states.add(long)
  const { slot } = states
  expect(states.find(long)).toBe(slot)
  expect(states.find(`${long}x`)).toBe(-1)
})
