import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { tokenBucket } from '../../src/algorithms/bucket/policies.js'
import { fixedWindow } from '../../src/algorithms/fixed-window/policies.js'
import { counterOf } from '../../src/algorithms/policy.js'
import { unlimited } from '../../src/algorithms/unlimited.js'
import { RateLimiter } from '../../src/limiter/limiter.js'
import { memoryStore } from '../../src/memory/store.js'
import { type AdaptiveOptions, adaptive, adaptiveIn } from '../../src/overload/adaptive.js'
import {
  eventLoopDelay,
  eventLoopUtilization,
  responses,
  type Signal,
} from '../../src/overload/signals.js'
import { policyFactories } from '../../src/testing/algorithms.js'
import { fakeClock } from '../../src/testing/clock.js'
import { limitOn } from '../http/exchange.js'
import { randomFrom, virtualTime } from '../virtual-time.js'

const policy = fixedWindow({ name: 'p', limit: 64, window: '1m' })

function following(options: AdaptiveOptions, of = policy) {
  const time = virtualTime()
  const use = adaptiveIn(time, of, options)
  use()
  return {
    time,
    use,
    /** Looks this many times, half a second apart, and returns the factors. */
    look(times: number): number[] {
      return Array.from({ length: times }, () => {
        time.block(500)
        use()
        return use.factor
      })
    },
  }
}

function warnings() {
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => spy.mockRestore())
  return () => spy.mock.calls.map(([text]) => String(text))
}

test('halves at most twice a second while the load is too much, and stops at min', () => {
  const { look, use } = following({ signal: () => 10, min: 0.1 })
  expect(use.factor).toBe(1)
  expect(look(5)).toEqual([0.5, 0.25, 0.125, 0.1, 0.1])
})

test('goes back halfway to what was too much, passes it slowly, and reaches max', () => {
  let load = 10
  const { look } = following({ signal: () => load, min: 0.1 })
  expect(look(2)).toEqual([0.5, 0.25])
  load = 0.5
  expect(look(3)).toEqual([0.625, 21 / 32, 22 / 32])
  const later = look(40)
  expect(later.at(-1)).toBe(1)
  expect(later.every((factor, i) => i === 0 || factor >= (later[i - 1] as number))).toBe(true)
})

test('a load that is neither low nor too high changes nothing', () => {
  const { look } = following({ signal: () => 0.95, max: 0.75 })
  expect(look(3)).toEqual([0.75, 0.75, 0.75])
})

test('whatever the load, the factor is within its bounds, in 32nds between, with one event for each change', () => {
  const random = randomFrom(7)
  const events: [number, number][] = []
  const { look } = following({
    signal: () => random() * 1.1,
    min: 0.3,
    max: 0.9,
    warmUp: '5s',
    onChange: (factor, before) => void events.push([before, factor]),
  })
  const factors = look(2_000)
  expect(Math.min(...factors)).toBe(0.3)
  expect(Math.max(...factors)).toBeLessThanOrEqual(0.9)
  const others = factors.filter((factor) => factor !== 0.3 && factor !== 0.9)
  expect(others.every((factor) => Number.isInteger(factor * 32))).toBe(true)
  expect(events.length).toBeGreaterThan(100)
  expect(events.every(([before, factor]) => before !== factor)).toBe(true)
  expect(events.slice(1).every(([before], i) => before === events[i]?.[1])).toBe(true)
})

test('warms up after the start, and after a pause of the same length', () => {
  const { time, use, look } = following({ warmUp: '10s', min: 0.25 })
  expect(use.factor).toBe(0.25)
  expect(look(20).filter((_, i) => i % 5 === 4)).toEqual([14 / 32, 20 / 32, 26 / 32, 1])
  time.block(9_999)
  use()
  expect(use.factor).toBe(1)
  time.block(10_000)
  use()
  expect(use.factor).toBe(0.25)
})

test('a signal during a pause is ignored', () => {
  const { time, use } = following({ signal: () => 100 })
  time.block(5_000)
  use()
  expect(use.factor).toBe(1)
})

test('slow responses are evaluated ten times a second, when there are enough of them', () => {
  const signal = responses({ latency: 100 })
  const { time, use } = following({ signal, min: 1 / 32 })
  const factors = (records: number, tookMs: number): number[] =>
    Array.from({ length: 6 }, () => {
      for (let i = 0; i < records; i += 1) signal.record(tookMs)
      time.block(100)
      use()
      return use.factor
    })
  // Five of them are enough, three rounds here.
  expect(factors(2, 400)).toEqual([1, 1, 0.5, 0.5, 0.5, 0.25])
  expect(factors(10, 400)).toEqual([4 / 32, 2 / 32, 1 / 32, 1 / 32, 1 / 32, 1 / 32])
  // Upwards as slowly as ever: halfway, and then in steps, half a second each.
  expect(factors(30, 80).map((factor) => 32 * factor)).toEqual([1, 1, 1, 1, 16, 16])
  expect(factors(30, 80).map((factor) => 32 * factor)).toEqual([16, 16, 16, 17, 17, 17])
})

test('one response that hung is not evaluated before its time', () => {
  const signal = responses({ latency: 100 })
  const { time, use } = following({ signal })
  signal.record(10_000)
  time.block(400)
  use()
  expect(use.factor).toBe(1)
  time.block(100)
  use()
  expect(use.factor).toBe(0.5)
})

test('responses that are slightly too slow are not evaluated before their time', () => {
  const signal = responses({ latency: 100 })
  const { time, use } = following({ signal })
  const factors = Array.from({ length: 6 }, () => {
    for (let i = 0; i < 100; i += 1) signal.record(140)
    time.block(100)
    use()
    return use.factor
  })
  expect(factors).toEqual([1, 1, 1, 1, 22 / 32, 22 / 32])
})

test('a function as a signal is called twice a second, however it is used', () => {
  let asked = 0
  const { time, use } = following({
    signal: () => {
      asked += 1
      return 0.95
    },
  })
  for (let ms = 0; ms < 10_000; ms += 10) {
    time.block(10)
    use()
  }
  expect(asked).toBe(21)
})

test('policies that follow one signal all get its values', () => {
  const time = virtualTime()
  const signal = responses({ latency: 100 })
  const policies = [1, 2, 3].map(() => adaptiveIn(time, policy, { signal }))
  for (const use of policies) use()
  for (const factor of [0.5, 0.25]) {
    signal.record(1_000)
    time.block(500)
    // Not all of them are used at the same instant.
    const factors = policies.map((use) => {
      time.block(10)
      use()
      return use.factor
    })
    expect(factors).toEqual([factor, factor, factor])
  }
})

test.each([
  ['throws', () => fail()],
  ['gives NaN', () => Number.NaN],
  ['gives a negative number', () => -1],
  ['gives a text', () => '2' as never],
  ['gives a promise that rejects', () => Promise.reject(new Error('no')) as never],
])('a signal that %s leaves the factor as it is, with one warning', (title, signal) => {
  const said = warnings()
  const of = fixedWindow({ name: title.replaceAll(' ', '-'), limit: 64, window: '1m' })
  const { look } = following({ signal: signal as Signal }, of)
  expect(look(3)).toEqual([1, 1, 1])
  expect(said()).toHaveLength(1)
})

function fail(): never {
  throw new Error('no')
}

test('an error that a listener throws is a warning', () => {
  const said = warnings()
  const { look } = following({ signal: () => 10, onChange: () => fail() })
  expect(look(1)).toEqual([0.5])
  expect(said()[0]).toContain('onChange')
})

describe('the policy', () => {
  test.each(Object.entries(policyFactories))('%s keeps its counter', (_, { of }) => {
    const full = of(60, '1m')
    let load = 10
    const { use, look } = following({ signal: () => load, min: 0.25 }, full)
    expect(use()).toBe(full)
    look(1)
    const half = use()
    expect(half).toMatchObject({ name: full.name, limit: 30, timeScale: full.timeScale })
    expect(half.unitMs).toBeCloseTo(2 * full.unitMs)
    expect(counterOf(half)).toBe(counterOf(full))
    expect(half.nameWithoutLimit).toBe(full.nameWithoutLimit)
    expect(use()).toBe(half)
    load = 0
    look(100)
    expect(use()).toBe(full)
  })

  test.each([
    [3, 0.125, 1],
    [3, 0.5, 2],
    [10, 0.25, 3],
    [0, 0.5, 0],
  ])('of %i at %f is %i: a whole number, and never 0 unless it was', (limit, min, least) => {
    const { use, look } = following(
      { signal: () => 100, min },
      fixedWindow({ name: 'p', limit, window: '1m' }),
    )
    look(10)
    expect(use().limit).toBe(least)
  })

  test('counts in a limiter as one, with and without a name', async () => {
    for (const name of ['api', undefined]) {
      const clock = fakeClock()
      const time = virtualTime()
      let load = 0
      const use = adaptiveIn(time, tokenBucket({ capacity: 10, refill: 1, every: '1s' }), {
        signal: () => load,
        min: 0.5,
      })
      const limiter = new RateLimiter({ name, store: memoryStore({ clock }), policy: use })
      for (let i = 0; i < 5; i += 1) await limiter.consume('k')
      time.block(500)
      load = 10
      // Half of the bucket is used, whatever its size.
      expect(await limiter.consume('k')).toMatchObject({ limit: 5, remaining: 1 })
    }
  })
})

describe('stats of a limiter', () => {
  test('show the factor and the limit of the last use, on the way down and up', async () => {
    for (const name of ['api', undefined]) {
      const time = virtualTime()
      let load = 10
      const use = adaptiveIn(time, fixedWindow({ limit: 100, window: '1h' }), {
        signal: () => load,
        min: 0.5,
      })
      const limiter = new RateLimiter({ name, policy: use })
      const stats = () => limiter.stats().policies.map(({ factor, limit }) => [factor, limit])
      // None was made yet.
      expect(stats()).toEqual([])
      await limiter.consume('k')
      time.block(500)
      await limiter.consume('k')
      expect(stats()).toEqual([[0.5, 50]])
      expect([use.factor, use.current.limit]).toEqual([0.5, 50])
      load = 0
      for (let i = 0; i < 100; i += 1) {
        time.block(500)
        await limiter.consume('k')
      }
      expect(stats()).toEqual([[1, 100]])
      expect(stats()).toEqual([[1, 100]])
    }
  })

  test('also show it for middleware, which passes the key', async () => {
    const time = virtualTime()
    const use = adaptiveIn(time, policy, { signal: () => 10, min: 0.5 })
    const { limiter, send } = limitOn({ policy: use })
    await send()
    time.block(500)
    await send()
    expect(limiter.stats().policies).toMatchObject([{ policy: 'p', factor: 0.5, limit: 32 }])
    // Without a request.
    expect(await limiter.peek('k')).toMatchObject({ limit: 32 })
  })

  test('have no factor for other policies, whether or not they are functions', async () => {
    const odd = Object.assign(() => policy, { factor: 3, current: 'none' })
    for (const own of [policy, () => policy, odd]) {
      const limiter = new RateLimiter({ policy: own })
      await limiter.consume('k')
      expect(limiter.stats().policies).toMatchObject([{ factor: undefined, limit: 64 }])
    }
  })
})

test.each<[of: unknown, options: object, code: string]>([
  [undefined, { signal: () => 1 }, 'WEIR_INVALID_POLICY'],
  [unlimited(), { signal: () => 1 }, 'WEIR_INVALID_POLICY'],
  [[policy], { signal: () => 1 }, 'WEIR_INVALID_POLICY'],
  [policy, {}, 'WEIR_INVALID_OPTION'],
  [policy, { signal: 3 }, 'WEIR_INVALID_OPTION'],
  [policy, { signal: () => 1, min: 0 }, 'WEIR_INVALID_OPTION'],
  [policy, { signal: () => 1, min: Number.NaN }, 'WEIR_INVALID_OPTION'],
  [policy, { signal: () => 1, max: 2 }, 'WEIR_INVALID_OPTION'],
  [policy, { signal: () => 1, min: 0.6, max: 0.5 }, 'WEIR_INVALID_OPTION'],
  [policy, { warmUp: '0s' }, 'WEIR_INVALID_DURATION'],
  [policy, { signal: () => 1, factor: 1 }, 'WEIR_INVALID_OPTION'],
])('of %o with %o is refused', (of, options, code) => {
  expect(() => adaptive(of as never, options as AdaptiveOptions)).toThrow(
    expect.objectContaining({ code }),
  )
})

describe('signals', () => {
  test('responses: the larger load by times and by failures, since the last call', () => {
    const signal = responses({ latency: '100ms', errors: 0.1 })
    expect(signal()).toBeUndefined()
    signal.record(50)
    signal.record(100)
    expect(signal()).toBe(0.75)
    signal.record(50, true)
    signal.record(50)
    expect(signal()).toBe(5)
    for (const odd of [Number.NaN, -1, Number.POSITIVE_INFINITY]) signal.record(odd)
    expect(signal()).toBeUndefined()
  })

  test('responses: a client that left counts if it waited for longer than is right', () => {
    const signal = responses({ latency: '100ms' })
    signal.left(100)
    expect(signal()).toBeUndefined()
    signal.left(150)
    expect(signal()).toBe(1.5)
    const ofErrors = responses({ errors: 0.1 })
    ofErrors.left(1_000_000)
    expect(ofErrors()).toBeUndefined()
  })

  test('the event loop reports how late it is, and how busy', async () => {
    const delay = eventLoopDelay({ target: 1 })
    const busy = eventLoopUtilization({ target: 1 })
    let late = 0
    let part = 0
    // Blocks the event loop until that shows.
    while (late <= 1 || part <= 0) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 40)
      await new Promise((resolve) => setTimeout(resolve, 1))
      late = Math.max(late, delay() ?? 0)
      part = Math.max(part, busy() ?? 0)
    }
    expect(late).toBeGreaterThan(1)
    expect(part).toBeGreaterThan(0)
    expect(part).toBeLessThanOrEqual(1)
  })

  test.each<[() => unknown, string]>([
    [() => responses({}), 'WEIR_INVALID_OPTION'],
    [() => responses({ errors: 0 }), 'WEIR_INVALID_OPTION'],
    [() => responses({ errors: 1.5 }), 'WEIR_INVALID_OPTION'],
    [() => responses({ latency: 0 }), 'WEIR_INVALID_DURATION'],
    [() => eventLoopDelay({ target: -1 }), 'WEIR_INVALID_DURATION'],
    [() => eventLoopUtilization({ target: 2 }), 'WEIR_INVALID_OPTION'],
    [() => eventLoopUtilization({ goal: 1 } as never), 'WEIR_INVALID_OPTION'],
  ])('%s is refused', (make, code) => {
    expect(make).toThrow(expect.objectContaining({ code }))
  })

  test('outside Node only your own functions work, and the others say so', () => {
    vi.stubGlobal('process', undefined)
    onTestFinished(() => void vi.unstubAllGlobals())
    expect(() => eventLoopDelay()).toThrow('give a function of your own')
  })
})

test('options in the place of the policy are what the error is about', () => {
  const options = { policy, signal: () => 0 }
  expect(() => adaptive(options as never, undefined as never)).toThrow(
    'policy is { policy, signal }; give one policy that has a limit',
  )
})
