// The circuit breaker against a model, under random calls at injected times.

import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import {
  type Breaker,
  circuitBreaker,
  guardedBreaker,
} from '../../../src/layers/resilience/breaker.js'

/** What is remembered of a breaker: every call with its time, from which the state it must be in follows. */
class Model {
  nowMs = 0
  state: 'closed' | 'open' | 'half-open' = 'closed'
  calls: { atMs: number; good: boolean }[] = []
  sampleFromMs = 0
  waitMs = 0
  flaps = 0
  closedAtMs = Number.NEGATIVE_INFINITY
}

type Call = (model: Model, breaker: Breaker) => void

function recorded(model: Model, good: boolean): void {
  if (model.nowMs - model.sampleFromMs >= 1_000) model.sampleFromMs = model.nowMs
  model.calls.push({ atMs: model.nowMs, good })
}

function opens(model: Model, waitMs: number): void {
  model.state = 'open'
  model.waitMs = Math.min(waitMs, 1_000)
}

const CALLS: Record<string, Call> = {
  succeeds(model, breaker) {
    breaker.succeeded(model.nowMs)
    recorded(model, true)
  },
  fails(model, breaker) {
    breaker.failed(model.nowMs)
    recorded(model, false)
    if (model.state !== 'closed') return
    const streak = model.calls.slice(-5)
    const sample = model.calls.filter(({ atMs }) => atMs >= model.sampleFromMs)
    const bad = sample.filter(({ good }) => !good).length
    const inARow = streak.length === 5 && streak.every(({ good }) => !good)
    if (!inARow && !(sample.length >= 20 && 2 * bad >= sample.length)) return
    model.flaps = model.nowMs - model.closedAtMs < 30_000 ? model.flaps + 1 : 0
    opens(model, 100 * 2 ** model.flaps)
  },
  'is probed in vain'(model, breaker) {
    breaker.probed(false, model.nowMs)
    if (model.state === 'open') opens(model, 2 * model.waitMs)
  },
  'is probed well'(model, breaker) {
    breaker.probed(true, model.nowMs)
    if (model.state === 'open') model.state = 'half-open'
  },
  'is settled'(model, breaker) {
    breaker.settled(true, model.nowMs)
    if (model.state !== 'half-open') return
    model.state = 'closed'
    model.calls = []
    model.sampleFromMs = model.nowMs
    model.closedAtMs = model.nowMs
  },
  'cannot be settled'(model, breaker) {
    breaker.settled(false, model.nowMs)
    if (model.state === 'half-open') opens(model, 2 * model.waitMs)
  },
}

describe('a circuit breaker', () => {
  test('does what its model does, whatever happens', () => {
    const weights = [
      ['succeeds', 4],
      ['fails', 8],
      ['is probed in vain', 1],
      ['is probed well', 2],
      ['is settled', 2],
      ['cannot be settled', 1],
    ] as const
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
          const breaker = circuitBreaker(() => chance)
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
      { numRuns: 2_000 },
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

  test('opens after five failures in a row, and not after four and a success', () => {
    const breaker = circuitBreaker()
    for (const good of [false, false, false, false, true, false, false, false, false]) {
      if (good) breaker.succeeded(0)
      else breaker.failed(0)
    }
    expect(breaker.state).toBe('closed')
    breaker.failed(0)
    expect(breaker.state).toBe('open')
  })
})

describe('a breaker that is handed in', () => {
  const calls = ['succeeded', 'failed'] as const

  test.each(calls)('and throws from %s ended the process', (call) => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
    const odd = { ...circuitBreaker(), [call]: () => fail() }
    const breaker = guardedBreaker(() => odd as Breaker, `node-${call}`)
    for (let i = 0; i < 5; i += 1) breaker[call](i)
    if (call === 'failed') for (let i = 0; i < 5; i += 1) breaker.failed(10 + i)
    expect(breaker.state).toBe(call === 'failed' ? 'open' : 'closed')
    expect(warn).toHaveBeenCalledTimes(1)
    warn.mockRestore()
  })

  test('and says nonsense is replaced', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation((() => {}) as never)
    const breaker = guardedBreaker(() => ({ ...circuitBreaker(), state: 'ajar' }) as never, 'odd')
    expect(breaker.state).toBe('closed')
    const throwing = guardedBreaker(() => fail(), 'throwing')
    expect(throwing.state).toBe('closed')
    expect(warn).toHaveBeenCalledTimes(2)
    warn.mockRestore()
  })

  test('is used as long as it works', () => {
    const told: string[] = []
    const mine = {
      ...circuitBreaker(),
      state: 'open' as const,
      probeAtMs: 7,
      failed: () => told.push('failed'),
    }
    const breaker = guardedBreaker(() => mine as unknown as Breaker, 'mine')
    breaker.failed(1)
    expect([breaker.state, breaker.probeAtMs, ...told]).toEqual(['open', 7, 'failed'])
  })

  function fail(): never {
    throw new Error('no')
  }
})
