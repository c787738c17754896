// The circuit breaker compared with a model, under random calls at injected times.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Breaker } from '../../../src/layers/resilience/breaker.js'

/** The history of a breaker, which determines its state. */
class Model {
  nowMs = 0
  state: 'closed' | 'open' | 'half-open' = 'closed'
  calls: { good: boolean; reads?: boolean }[] = []
  /** The first failure of the last second, and its position among the calls. */
  sample = { fromMs: Number.NEGATIVE_INFINITY, from: 0 }
  waitMs = 0
  flaps = 0
  backAtMs = Number.NEGATIVE_INFINITY
}

type Call = (model: Model, breaker: Breaker) => void

function recorded(model: Model, good: boolean, reads = false): void {
  if (!good && model.nowMs - model.sample.fromMs >= 1_000) {
    model.sample = { fromMs: model.nowMs, from: model.calls.length }
  }
  model.calls.push({ good, reads })
}

function opens(model: Model, waitMs: number): void {
  model.state = 'open'
  model.waitMs = Math.min(waitMs, 1_000)
}

const CALLS: Record<string, Call> = {
  succeeds(model, breaker) {
    breaker.succeeded(true)
    recorded(model, true)
  },
  'answers a read'(model, breaker) {
    breaker.succeeded(false)
    recorded(model, true, true)
  },
  fails(model, breaker) {
    breaker.failed(model.nowMs)
    recorded(model, false)
    if (model.state === 'open') return
    const streak = model.calls.filter(({ reads }) => !reads).slice(-5)
    const sample = model.calls.slice(model.sample.from)
    const bad = sample.filter(({ good }) => !good).length
    const inARow = streak.length === 5 && streak.every(({ good }) => !good)
    if (!inARow && !(sample.length >= 20 && 2 * bad >= sample.length)) return
    model.flaps = model.nowMs - model.backAtMs < 30_000 ? model.flaps + 1 : 0
    opens(model, 100 * 2 ** model.flaps)
  },
  'is probed in vain'(model, breaker) {
    breaker.probed(false, model.nowMs)
    if (model.state === 'open') opens(model, 2 * model.waitMs)
  },
  'is probed well'(model, breaker) {
    breaker.probed(true, model.nowMs)
    if (model.state !== 'open') return
    model.state = 'half-open'
    model.calls = []
    model.sample = { fromMs: Number.NEGATIVE_INFINITY, from: 0 }
    model.backAtMs = model.nowMs
  },
  'has been back for long enough'(model, breaker) {
    breaker.close()
    if (model.state === 'half-open') model.state = 'closed'
  },
}

describe('a circuit breaker', () => {
  test('does what its model does, whatever happens', () => {
    const weights = [
      ['succeeds', 4],
      ['answers a read', 2],
      ['fails', 8],
      ['is probed in vain', 2],
      ['is probed well', 3],
      ['has been back for long enough', 1],
    ] as const
    // Exactly half of twenty.
    const half: (typeof weights)[number][0][] = ['fails', 'succeeds', 'succeeds', 'fails']
    for (let i = 0; i < 8; i += 1) half.push('succeeds', 'fails')
    const call = fc.oneof(
      ...weights.map(([name, weight]) => ({ weight, arbitrary: fc.constant(name) })),
    )
    const wait = fc.oneof(
      { weight: 6, arbitrary: fc.constant(0) },
      { weight: 2, arbitrary: fc.integer({ min: 1, max: 1_200 }) },
      { weight: 1, arbitrary: fc.constant(30_000) },
    )
    const seen = new Set<string>()
    fc.assert(
      fc.property(
        fc.array(fc.tuple(call, wait), { minLength: 1, maxLength: 120, size: 'max' }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (steps, chance) => {
          const model = new Model()
          const breaker = new Breaker(() => chance)
          for (const [name, waitMs] of steps) {
            model.nowMs += waitMs
            const before = model.state
            const beforeMs = breaker.probeAtMs
            ;(CALLS[name] as Call)(model, breaker)
            expect(breaker.state).toBe(model.state)
            seen.add(`${before} -> ${model.state}`)
            if (model.state !== 'open' || breaker.probeAtMs === beforeMs) continue
            expect(breaker.probeAtMs - model.nowMs).toBeCloseTo(
              model.waitMs * (0.5 + chance / 2),
              6,
            )
          }
        },
      ),
      { numRuns: 2_000, examples: [[half.map((name) => [name, 0]), 0.5]] },
    )
    expect([...seen].sort()).toEqual([
      'closed -> closed',
      'closed -> open',
      'half-open -> closed',
      'half-open -> half-open',
      'half-open -> open',
      'open -> half-open',
      'open -> open',
    ])
  })
})
