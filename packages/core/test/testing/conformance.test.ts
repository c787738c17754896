import { describe, expect, test } from 'vitest'
import { MODE_NAMES } from '../../src/algorithms/modes.js'
import { type Algorithm, fixedWindow, memoryStore } from '../../src/index.js'
import type { Mode, Store } from '../../src/store.js'
import { policyFactories } from '../../src/testing/algorithms.js'
import {
  type FakeClock,
  fakeClock,
  replayTrace,
  storeConformance,
} from '../../src/testing/index.js'

const ALGORITHMS = Object.values(policyFactories).map(({ of }) => of(1, '1m').algorithm)

/** A store that knows these algorithms and modes, and throws for others. */
function partial(algorithms: readonly Algorithm[], modes: readonly (Mode | 'reset')[]) {
  return (clock: FakeClock): Store => {
    const memory = memoryStore({ clock })
    return {
      decide(request) {
        const { mode, target } = request
        const others = target.policySet.policies.filter(
          (each) => !algorithms.includes(each.algorithm),
        )
        if (!modes.includes(mode) || others.length > 0)
          throw new Error(`${mode} of ${target.policySet.policies.map((each) => each.algorithm)}`)
        return memory.decide(request)
      },
      reset(target) {
        if (!modes.includes('reset')) throw new Error('reset')
        memory.reset(target)
      },
      recovers: modes.includes('reconcile') && modes.includes('restore'),
      reserves: true,
    }
  }
}

async function passes(algorithms: readonly Algorithm[], modes: readonly (Mode | 'reset')[]) {
  const cases = storeConformance(partial(algorithms, modes), { algorithms, modes })
  for (const { name, run } of cases)
    await run().catch((error) => {
      throw new Error(`${name}: ${error.message}`)
    })
  return cases.length
}

describe('the suite for some algorithms and modes uses no others', () => {
  const whole = storeConformance((clock) => memoryStore({ clock })).length

  test.each(ALGORITHMS)('%s, all modes', async (algorithm) => {
    const count = await passes([algorithm], MODE_NAMES)
    expect(count).toBeGreaterThan(15)
    expect(count).toBeLessThan(whole / 2)
  })

  test.each([
    [['consume']],
    [['consume', 'peek']],
    [['consume', 'peek', 'penalty']],
    [['consume', 'peek', 'reset', 'penalty']],
    [['consume', 'peek', 'refund']],
    [['consume', 'peek', 'cancel']],
  ] as const)('all algorithms, %j', async (modes) => {
    const count = await passes(ALGORITHMS, modes)
    expect(count).toBeGreaterThan(15)
    expect(count).toBeLessThan(whole)
  })

  test('with all of them it is the whole suite', () => {
    const all = { algorithms: ALGORITHMS, modes: MODE_NAMES }
    expect(storeConformance((clock) => memoryStore({ clock }), all).length).toBe(whole)
  })

  test.each([
    [{ algorithms: ['fixed-windows'] }, '"fixed-windows"'],
    [{ algorithms: [] }, 'token-bucket'],
    [{ modes: 'consume' }, '"consume"'],
    [{ modes: ['reserve'] }, 'consume, peek'],
    [{ mode: ['consume'] }, 'modes'],
  ])('%j is refused, with what would be right', (options, part) => {
    const make = () => storeConformance(() => memoryStore(), options as object)
    expect(make).toThrow(expect.objectContaining({ code: 'WEIR_INVALID_OPTION' }))
    expect(make).toThrow(part)
  })
})

test('days of the calendar are checked even for a store that only consumes', async () => {
  /** Its days begin with a request. */
  const wrong = (clock: FakeClock): Store => {
    const memory = memoryStore({ clock })
    return {
      decide(request) {
        const { policySet } = request.target
        const policies = policySet.policies.map((policy) => {
          const { kernel, name, limit, windowMs } = policy
          return kernel?.periodAt ? fixedWindow({ name, limit, window: windowMs }) : policy
        })
        const target = { ...request.target, policySet: { ...policySet, policies } }
        return memory.decide({ ...request, target })
      },
      reset() {},
    }
  }
  const cases = storeConformance(wrong, { algorithms: ['fixed-window'], modes: ['consume'] })
  const trace = cases.find(({ name }) => name === 'trace fixed-window')
  await expect(trace?.run()).rejects.toThrow(
    '0ms consume 2: reset: expected 66600000ms, got 86400000ms',
  )
})

test('a trace that fails names its line, its call, and the columns that differ', async () => {
  const clock = fakeClock()
  const policy = fixedWindow({ limit: 3, window: '1s' })
  const memory = memoryStore({ clock })
  const wrong: Store = {
    async decide(request) {
      const result = await memory.decide(request)
      const [only] = result.policies
      return { ...result, policies: [{ ...only, policy, retryAfterMs: 7, remaining: 1 } as never] }
    },
    reset() {},
  }
  const text = 'policy fixedWindow limit=3 window=1s\n300ms  consume 1  yes  2  0ms  1000ms\n'
  await expect(replayTrace(text, wrong, clock)).rejects.toThrow(
    'line 2 of the trace, 300ms consume 1: left: expected 2, got 1; retry: expected 0ms, got 7ms',
  )
  await expect(replayTrace(text, memory, clock, 'other')).resolves.toBeUndefined()
})
