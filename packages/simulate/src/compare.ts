// Two sets of policies over one log: what changes.

import type { PoliciesInput } from './limiters.js'
import type { LogEntry } from './log/entry.js'
import type { RunReport, SimulationReport } from './report.js'
import type { LimiterRun } from './run/limiter-run.js'
import type { LimiterSimulation } from './run/limiter-simulation.js'
import { type Simulated, type SimulationOptions, simulationOf } from './simulation.js'

export interface ComparisonOptions
  extends Omit<SimulationOptions, 'policies' | 'source' | 'onDecision'> {
  readonly before: PoliciesInput
  readonly after: PoliciesInput
}

export interface Comparison {
  /** Takes the next entry of the log. Throws what `add` of a simulation throws. */
  add(entry: LogEntry): void
  /** Ends both simulations and says what changes. */
  report(): CompareReport
}

export interface CompareReport {
  readonly before: SimulationReport
  readonly after: SimulationReport
  /** Limiters that both sets have under the same name; if each set has only one, these two. */
  readonly limiters: readonly ComparedLimiter[]
  /** Limiters that only one of the sets has. */
  readonly onlyBefore: readonly string[]
  readonly onlyAfter: readonly string[]
}

/** What changes for a limiter, for one reading of the log's times. */
export interface ComparedLimiter {
  readonly limiter: string
  readonly times: RunReport['times']
  readonly refused: { readonly before: number; readonly after: number }
  readonly affected: { readonly before: number; readonly after: number }
  /** Keys that only the policies after the change refuse, and keys that only those before it do. */
  readonly newlyAffected: ChangedKeys
  readonly noLongerAffected: ChangedKeys
}

export interface ChangedKeys {
  readonly count: number
  /** The ten keys with the most refusals. */
  readonly most: readonly { readonly key: string; readonly refused: number }[]
}

/**
 * Replays a log through two sets of policies.
 * @throws what `simulation` throws
 * @example
 * const compared = comparison({ before: slidingWindow({ limit: 100, window: '1m' }), after: next })
 */
export function comparison({ before, after, ...options }: ComparisonOptions): Comparison {
  const was = simulationOf({ ...options, policies: before })
  const is = simulationOf({ ...options, policies: after })
  return {
    add(entry) {
      was.add(entry)
      is.add(entry)
    },
    report: () => compared(was, is),
  }
}

function compared(was: Simulated, is: Simulated): CompareReport {
  const before = was.report()
  const after = is.report()
  const isOne = was.limiters.length === 1 && is.limiters.length === 1
  const pairs = was.limiters.flatMap((one) => {
    const other = isOne ? is.limiters[0] : is.limiters.find(({ name }) => name === one.name)
    return other === undefined ? [] : [[one, other] as const]
  })
  const paired = new Set(pairs.flat())
  const alone = ({ limiters }: Simulated): string[] =>
    limiters.filter((limiter) => !paired.has(limiter)).map(({ name }) => name)
  const limiters = pairs.flatMap(([one, other]) => comparedRuns(one, other))
  return { before, after, limiters, onlyBefore: alone(was), onlyAfter: alone(is) }
}

/** Each set replays the requests that it decides on. If only one set has two runs, because only its
 *  requests have whole seconds, both are compared with the other set's single run. */
function comparedRuns(
  one: LimiterSimulation,
  other: LimiterSimulation,
): readonly ComparedLimiter[] {
  const most = one.runs.length < other.runs.length ? other.runs : one.runs
  return most.map(({ times }, i) => {
    const before = (one.runs[i] ?? one.runs[0]) as LimiterRun
    const after = (other.runs[i] ?? other.runs[0]) as LimiterRun
    return comparedRun(one, before, other, after, times)
  })
}

function comparedRun(
  one: LimiterSimulation,
  before: LimiterRun,
  other: LimiterSimulation,
  after: LimiterRun,
  times: RunReport['times'],
): ComparedLimiter {
  const limiter = one.name === other.name ? one.name : `${one.name} -> ${other.name}`
  const refusedBefore = refusedIn(one, before)
  const refusedAfter = refusedIn(other, after)
  return {
    limiter,
    times,
    refused: { before: before.refused, after: after.refused },
    affected: { before: before.affected.count, after: after.affected.count },
    newlyAffected: without(refusedAfter, refusedBefore),
    noLongerAffected: without(refusedBefore, refusedAfter),
  }
}

/** How often each key was refused; only keys that were. */
function refusedIn({ keys }: LimiterSimulation, { affected }: LimiterRun): Map<string, number> {
  const refused = new Map<string, number>()
  keys.texts.forEach((text, key) => {
    const count = affected.refused.of(key)
    if (count > 0) refused.set(text, count)
  })
  return refused
}

const TOP = 10

function without(some: Map<string, number>, others: Map<string, number>): ChangedKeys {
  const changed = [...some].filter(([key]) => !others.has(key))
  const most = changed.sort(([, one], [, other]) => other - one).slice(0, TOP)
  return { count: changed.length, most: most.map(([key, refused]) => ({ key, refused })) }
}
