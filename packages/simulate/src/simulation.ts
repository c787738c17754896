// A simulation takes entries in the log's order and sorts them; then each limiter decides on them,
// at their times.

import type { Decision, Key } from '@weir/core'
import { misuse } from './errors.js'
import { type Limiter, limitersOf, type PoliciesInput } from './limiters.js'
import type { LogEntry } from './log/entry.js'
import { type KeyOf, keyOf } from './log/keys.js'
import type { RunReport, SimulationReport } from './report.js'
import { LimiterSimulation, type Request } from './run/limiter-simulation.js'
import { moveOf } from './run/moved.js'
import { Timeline } from './run/timeline.js'

export interface SimulationOptions {
  /** What is allowed: a policy, a list of policies, or limiters by name. */
  readonly policies: PoliciesInput
  /** Who is limited, for limiters that do not say: `'ip'`, `'user+path'`, or a function. Default:
   *  the field that `fields.key` names; without one, the address. */
  readonly key?: string | ((entry: LogEntry) => Key | undefined) | undefined
  /** The most keys that a limiter may have: with more, the simulation fails. 1 to 16,777,216. A key
   *  takes about 200 bytes. Default 1,000,000. */
  readonly maxKeys?: number | undefined
  /** Simulates one in this many keys, chosen by a hash of the key: 1 to 1,000,000. Default 1, which
   *  is all. */
  readonly sample?: number | undefined
  /** Leaves out entries before this time, in us since 1970. Default: none. */
  readonly fromUs?: number | undefined
  /** Leaves out entries at and after this time, in us since 1970. Default: none. */
  readonly toUs?: number | undefined
  /** Called after each decision, with the log's time. If the log has whole seconds, each entry is
   *  decided on twice: see `times` of `RunReport`. `add` and `report` throw what the listener
   *  throws. */
  readonly onDecision?: DecisionListener | undefined
  /** What `policies` is called in errors. Default `'policies'`. */
  readonly source?: string | undefined
}

/** Sees each decision. */
export type DecisionListener = (
  decision: Decision,
  timeUs: number,
  times: RunReport['times'],
) => void

export interface Simulation {
  /**
   * Takes the next entry of the log.
   * @throws {SimulateError} WEIR_TOO_MANY_KEYS, WEIR_NOT_SIMULATED
   */
  add(entry: LogEntry): void
  /** Ends the simulation and returns its results. */
  report(): SimulationReport
}

/**
 * Replays a log through the limiters of @weir/core, by the log's times.
 * @throws {SimulateError} WEIR_INVALID_OPTION, WEIR_INVALID_POLICY, WEIR_NOT_SIMULATED
 * @throws {TypeError | RangeError} what `RateLimiter` throws
 * @example
 * const simulated = simulation({ policies: slidingWindow({ limit: 100, window: '1m' }) })
 * const reader = logReader({}, (entry) => simulated.add(entry))
 * reader.write(text)
 * reader.end()
 * const [limiter] = simulated.report().limiters
 */
export function simulation(options: SimulationOptions): Simulation {
  return simulationOf(options)
}

/** @internal */
export function simulationOf(options: SimulationOptions): Simulated {
  const { maxKeys = 1_000_000, sample = 1, fromUs, toUs, onDecision } = options
  checkWhole('maxKeys', maxKeys, 2 ** 24)
  checkWhole('sample', sample, 1_000_000)
  const limiters = limitersOf(options.policies, options.source)
  const by = keysBy(options.key)
  return new Simulated(limiters, { by, maxKeys, sample, fromUs, toUs, onDecision })
}

/** @internal */
export function checkWhole(what: string, value: unknown, most: number): void {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most) return
  throw misuse(what, value, `a whole number from 1 to ${most}`)
}

/** @internal */
export function keysBy(key: SimulationOptions['key']): (entry: LogEntry) => Key | undefined {
  if (typeof key === 'function') return key
  if (key !== undefined) return keyOf(key)
  const ip: KeyOf = keyOf('ip')
  return (entry) => entry.key ?? ip(entry)
}

interface Checked {
  readonly by: (entry: LogEntry) => Key | undefined
  readonly maxKeys: number
  readonly sample: number
  readonly fromUs: number | undefined
  readonly toUs: number | undefined
  readonly onDecision: DecisionListener | undefined
}

/** @internal */
export class Simulated implements Simulation {
  readonly limiters: readonly LimiterSimulation[]
  readonly #sample: number
  readonly #timeline: Timeline<Request>
  #report: SimulationReport | undefined

  constructor(limiters: readonly Limiter[], options: Checked) {
    this.#sample = options.sample
    this.limiters = limiters.map((limiter) => new LimiterSimulation(limiter, options))
    this.#timeline = new Timeline<Request>(options, {
      begin: (times, typicalUs) => this.#begin(times, typicalUs),
      decide: (run, timeUs, request) => this.#decide(run, timeUs, request),
    })
  }

  add(entry: LogEntry): void {
    const { timeUs } = entry
    if (!this.#timeline.takes(timeUs)) return
    const request = requestOf(this.limiters, entry)
    if (request !== undefined) this.#timeline.add(timeUs, request)
  }

  report(): SimulationReport {
    this.#report ??= this.#ended()
    return this.#report
  }

  #begin(times: readonly RunReport['times'][], typicalUs: number): void {
    for (const limiter of this.limiters) limiter.begin(times, moveOf(typicalUs, limiter.policies))
  }

  #decide(run: number, timeUs: number, request: Request): void {
    for (let each: Request | undefined = request; each !== undefined; each = each.next)
      each.limiter.decide(run, timeUs, each)
  }

  #ended(): SimulationReport {
    const order = this.#timeline.end()
    const limiters = this.limiters.map((limiter) => limiter.report())
    for (const limiter of this.limiters) limiter.close()
    return { ...order, sample: this.#sample, limiters }
  }
}

function requestOf(limiters: readonly LimiterSimulation[], entry: LogEntry): Request | undefined {
  let first: Request | undefined
  for (let i = limiters.length - 1; i >= 0; i -= 1)
    first = (limiters[i] as LimiterSimulation).requestOf(entry, first)
  return first
}
