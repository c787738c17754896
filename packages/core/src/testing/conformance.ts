// A store's contract, as a suite that any test runner can run over any store:
//
// for (const { name, run } of storeConformance((clock) => myStore({ clock }))) test(name, run)
//
// The letters come from docs/algorithms.md, "The contract".

import { MODE_NAMES } from '../algorithms/modes.js'
import type { Algorithm } from '../algorithms/policy.js'
import { invalid } from '../base/errors.js'
import { checkedOptions } from '../base/options.js'
import { RateLimiter } from '../limiter/limiter.js'
import type { Mode, Store } from '../store.js'
import { policyExamples, policyFactories } from './algorithms.js'
import type { Bench, Case } from './cases/bench.js'
import { BLOCKS } from './cases/blocks.js'
import { CORRECTIONS } from './cases/corrections.js'
import { KEYS } from './cases/keys.js'
import { LIMITS } from './cases/limits.js'
import { REQUESTS } from './cases/requests.js'
import { SETTINGS_CASES } from './cases/settings.js'
import { TURNS } from './cases/turns.js'
import { type FakeClock, fakeClock } from './clock.js'
import { parseTrace, replaySteps, sectionsOf } from './trace.js'
import { traces } from './traces.generated.js'
import { inUnits } from './units.js'

export interface ConformanceCase {
  readonly name: string
  /** Rejects with an Error that says what broke the contract. */
  run(): Promise<void>
}

/** What to check a store for. */
export interface ConformanceOptions {
  /** Those that it knows. Default: all. */
  readonly algorithms?: readonly Algorithm[] | undefined
  /** The modes that it supports, and `reset`; `consume` is needed. Default: all. */
  readonly modes?: readonly (Mode | 'reset')[] | undefined
}

/**
 * The cases of the suite. Each makes its own store, on its own clock, and uses keys that no other
 * run uses, so the stores may share a server. With options, only the cases that need no other
 * algorithm or mode.
 *
 * @throws {TypeError} WEIR_INVALID_OPTION
 * @example
 * const known = { algorithms: ['fixed-window'] } as const
 * const cases = storeConformance((clock) => memoryStore({ clock }), known)
 * for (const { run } of cases) await run()
 */
export function storeConformance(
  createStore: (clock: FakeClock) => Store | Promise<Store>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  const { algorithms, modes } = chosen(options)
  const known = factories.filter(({ algorithm }) => algorithms.includes(algorithm))
  const { of } = known[0] as (typeof factories)[number]
  const examples = policyExamples.filter(({ make }) => algorithms.includes(make(1).algorithm))

  async function inStore(check: (bench: Bench) => Promise<unknown>): Promise<void> {
    const clock = fakeClock()
    const store = await createStore(clock)
    const run = `r${Math.random().toString(36).slice(2)}${Date.now().toString(36)}`
    try {
      await check({
        clock,
        store,
        run,
        examples,
        limiter: (policy) => new RateLimiter({ name: run, store, policy, shared: true }),
        subject: (policy) => inUnits(store, run, policy),
        policy: of,
      })
    } finally {
      await store.close?.()
    }
  }
  const isAsked = (each: Pick<Case, 'modes'>) => each.modes.every((mode) => modes.includes(mode))
  const casesOf = (cases: readonly Case[]) =>
    cases.filter(isAsked).map(({ name, run }) => ({ name, run: () => inStore(run) }))

  const perPolicy = examples.flatMap(({ label, limit, make, exempt = [] }) => {
    const cases = [...LIMITS, ...CORRECTIONS].filter(isAsked)
    const held = cases.filter(({ letter }) => letter === undefined || !exempt.includes(letter))
    return held.map(({ name, run }) => ({
      name: `${label}: ${name}`,
      run: () => inStore((bench) => run(bench, make(limit), make)),
    }))
  })
  const perTrace = Object.entries(traces).flatMap(([name, text]) => {
    const steps = sectionsOf(parseTrace(text), (step) => {
      const [policy] = step.policySet.policies
      return modes.includes(step.mode) && algorithms.includes(policy?.algorithm as Algorithm)
    })
    const run = () => inStore(({ store, clock, run: of }) => replaySteps(steps, store, clock, of))
    return steps.length === 0 ? [] : [{ name: `trace ${name}`, run }]
  })
  const blocks = BLOCKS.filter(({ algorithm }) => algorithms.includes(algorithm))
  const turns = TURNS.filter(({ algorithm }) => algorithms.includes(algorithm)).map(
    ({ run, ...rest }) => {
      const runIf = async (bench: Bench) => {
        if (bench.store.reserves) await run(bench)
      }
      return { ...rest, run: runIf }
    },
  )
  const settings = SETTINGS_CASES.map(([name, check]) => {
    const run = ({ store, run: of, clock }: Bench) =>
      store.settings ? check(store.settings, of, clock) : Promise.resolve()
    return { name, modes: [], run }
  })
  return [
    ...perPolicy,
    ...perTrace,
    ...casesOf([...REQUESTS, ...KEYS, ...blocks, ...turns, ...settings]),
  ]
}

const factories = Object.values(policyFactories).map(({ of }) => {
  return { algorithm: of(1, '1m').algorithm, of }
})

/** @throws {TypeError} WEIR_INVALID_OPTION */
function chosen(options: ConformanceOptions) {
  checkedOptions(options, 'storeConformance()', ['algorithms', 'modes'])
  const all = factories.map(({ algorithm }) => algorithm)
  return {
    algorithms: checkedList('algorithms', options.algorithms, all),
    modes: checkedList('modes', options.modes, MODE_NAMES),
  }
}

function checkedList<Value extends string>(
  name: string,
  given: readonly Value[] | undefined,
  all: readonly Value[],
): readonly Value[] {
  if (given === undefined) return all
  const wrong = Array.isArray(given) ? given.find((each) => !all.includes(each)) : given
  if (wrong === undefined && given.length > 0) return given
  throw invalid('WEIR_INVALID_OPTION', name, wrong ?? given, `some of ${all.join(', ')}`)
}
