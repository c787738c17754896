// The limit that fits a log: the smallest that refuses no more than the user accepts, with a curve
// over other limits, for each window.

import { type Cost, type Duration, unlimited } from '@weir/core'
import type { Algorithm } from '@weir/core/store'
import { misuse } from './errors.js'
import type { Limiter } from './limiters.js'
import type { LogEntry } from './log/entry.js'
import type { RunReport, TimelineReport } from './report.js'
import { LimiterSimulation } from './run/limiter-simulation.js'
import { type Share, shareOfKeys } from './run/shares.js'
import { Timeline } from './run/timeline.js'
import { checkWhole, keysBy, type SimulationOptions } from './simulation.js'
import { type Advice, adviceOf } from './suggest/advice.js'
import { type Candidates, candidatesOf } from './suggest/candidates.js'
import { Entries } from './suggest/entries.js'
import { type Plateau, plateausOf } from './suggest/plateau.js'
import type { Replayed } from './suggest/replay.js'
import { type Found, search } from './suggest/search.js'

export type { Advice } from './suggest/advice.js'
export type { Plateau } from './suggest/plateau.js'

export interface SuggestionOptions
  extends Omit<SimulationOptions, 'policies' | 'source' | 'onDecision'> {
  /** The share that may be refused, 0 to 1. Default 0.001, which is 0.1 %. */
  readonly affect?: number | undefined
  /** What `affect` is a share of: the keys, each of which counts once it is refused, or the
   *  requests. Default `'keys'`. */
  readonly of?: 'keys' | 'requests' | undefined
  /** The windows to find a limit for. Default 1 s, 10 s, 1 min and 1 h. */
  readonly windows?: readonly Duration[] | undefined
  /** The algorithm to find limits for. A bucket's limit is its capacity, which is also what it
   *  refills in one window. Default `'sliding-window'`. */
  readonly algorithm?: Algorithm | undefined
  /** Units that a request takes. Default: the value of the field that `fields.cost` names, or 1. */
  readonly cost?: ((entry: LogEntry) => Cost) | undefined
  /** Returns true for an entry to leave out. Default: none is left out. */
  readonly skip?: ((entry: LogEntry) => boolean) | undefined
}

export interface Suggesting {
  /**
   * Takes the next entry of the log.
   * @throws {SimulateError} WEIR_TOO_MANY_KEYS; WEIR_LOG_UNREADABLE above 33,554,432 entries
   */
  add(entry: LogEntry): void
  /** Searches, and returns the limits found. */
  report(): SuggestionReport
}

export interface SuggestionReport extends TimelineReport {
  readonly affect: number
  readonly of: 'keys' | 'requests'
  readonly algorithm: Algorithm
  readonly requests: number
  readonly keys: number
  readonly withoutKey: number
  readonly withoutCost: number
  readonly skipped: number
  /** One in this many keys was looked at. 1: all. */
  readonly sample: number
  readonly windows: readonly WindowSuggestion[]
  /** The limit to set. Undefined: none was found. */
  readonly advice: Advice | undefined
}

/** The limit for one window and one reading of the log's times. */
export interface WindowSuggestion {
  readonly windowMs: number
  readonly times: RunReport['times']
  /** The smallest limit that, like every larger one, refuses no more than `affect`. Undefined: the
   *  algorithm has no limit that is large enough. */
  readonly limit: number | undefined
  /** False: there are too many limits to try each, so a smaller one might do. */
  readonly isSmallest: boolean
  /** Ranges of limits that all affect equally many keys, at most one in ten, if the limit after the
   *  range is at least three times its smallest. If these keys are abusers, the smallest limit of
   *  the range stops them and nobody else. */
  readonly plateaus: readonly Plateau[]
  /** What this limit and others around it refuse, the smallest first. */
  readonly curve: readonly CurvePoint[]
}

/** What a limit refuses. */
export interface CurvePoint {
  readonly limit: number
  /** Keys that are refused at least once. */
  readonly affected: number
  readonly affectedShare: Share
  /** Requests that are refused, and their share. Only where `of` is `'requests'`. */
  readonly refused?: number
  readonly refusedShare?: number
}

/** How many keys of a plateau are named. */
const NAMED = 5
const WINDOWS: readonly Duration[] = ['1s', '10s', '1m', '1h']

/**
 * Finds limits that fit a log.
 * @throws {SimulateError} WEIR_INVALID_OPTION
 * @throws {RangeError} WEIR_INVALID_DURATION
 * @example
 * const search = suggestion({ windows: ['1m'] })
 * const reader = logReader({}, (entry) => search.add(entry))
 */
export function suggestion(options: SuggestionOptions): Suggesting {
  return suggestionWith(options)
}

/** @internal */
export function suggestionWith(options: SuggestionOptions): Suggested {
  const { affect = 0.001, of = 'keys', windows = WINDOWS, algorithm = 'sliding-window' } = options
  if (!(typeof affect === 'number' && affect >= 0 && affect <= 1))
    throw misuse('affect', affect, 'a part from 0 to 1: 0.001 for 0.1 %')
  if (of !== 'keys' && of !== 'requests') throw misuse('of', of, "'keys' or 'requests'")
  if (!Array.isArray(windows) || windows.length === 0)
    throw misuse('windows', windows, "a list of durations, such as ['1m', '1h']")
  const candidates = windows.map((window) => candidatesOf(algorithm, window))
  return new Suggested({ ...options, affect, of, algorithm }, candidates)
}

type Checked = SuggestionOptions & {
  readonly affect: number
  readonly of: 'keys' | 'requests'
  readonly algorithm: Algorithm
}

interface Charge {
  readonly key: number
  readonly cost: number
}

/** @internal */
export class Suggested implements Suggesting {
  readonly #options: Checked
  readonly #candidates: readonly Candidates[]
  readonly #timeline: Timeline<Charge>
  readonly #limiter: LimiterSimulation
  readonly #maxKeys: number
  readonly #sample: number
  #entries: Entries = new Entries(1)
  #times: readonly RunReport['times'][] = []
  #typicalUs = 0
  #withoutCost = 0
  #report: SuggestionReport | undefined

  constructor(options: Checked, candidates: readonly Candidates[]) {
    const { maxKeys = 1_000_000, sample = 1, fromUs, toUs, cost, skip } = options
    checkWhole('maxKeys', maxKeys, 2 ** 24)
    checkWhole('sample', sample, 1_000_000)
    this.#options = options
    this.#candidates = candidates
    this.#maxKeys = maxKeys
    this.#sample = sample
    const limiter: Limiter = { name: undefined, policy: unlimited(), uses: [], cost, skip }
    this.#limiter = new LimiterSimulation(limiter, { by: keysBy(options.key), maxKeys, sample })
    this.#timeline = new Timeline<Charge>(
      { fromUs, toUs },
      {
        begin: (times, typicalUs) => {
          this.#times = times
          this.#typicalUs = typicalUs
          this.#entries = new Entries(times.length)
        },
        decide: (run, timeUs, { key, cost: units }) => {
          if (run === 0) this.#entries.add(timeUs, key, units)
          else this.#entries.setTime(run, timeUs)
        },
      },
    )
  }

  add(entry: LogEntry): void {
    if (!this.#timeline.takes(entry.timeUs)) return
    const key = this.#limiter.keyOf(entry)
    if (key < 0) return
    const cost = this.#limiter.costOf(entry)
    if (typeof cost !== 'number' || !Number.isSafeInteger(cost) || cost < 0) {
      this.#withoutCost += 1
      return
    }
    this.#timeline.add(entry.timeUs, { key, cost })
  }

  /** @param onSearch called before each search, with how many of how many are done */
  report(onSearch?: (done: number, ofAll: number) => void): SuggestionReport {
    this.#report ??= this.#ended(onSearch)
    return this.#report
  }

  #ended(onSearch?: (done: number, ofAll: number) => void): SuggestionReport {
    const order = this.#timeline.end()
    const { affect, of, algorithm } = this.#options
    const { keys, skipped, withoutKey } = this.#limiter.report()
    const runs = this.#times.length
    const windows = this.#candidates.flatMap((candidates, i) =>
      this.#times.map((times, run) => {
        onSearch?.(i * runs + run, this.#candidates.length * runs)
        return this.#windowOf(candidates, times, run)
      }),
    )
    const { count: requests } = this.#entries
    const counts = { requests, keys, skipped, withoutKey, withoutCost: this.#withoutCost }
    const spanMs = ((order.lastUs ?? 0) - (order.firstUs ?? 0)) / 1_000
    const advice = adviceOf(windows, spanMs, (windowMs) => mostIn(this.#candidates, windowMs))
    return { ...order, ...counts, affect, of, algorithm, sample: this.#sample, windows, advice }
  }

  #windowOf(candidates: Candidates, times: RunReport['times'], run: number): WindowSuggestion {
    const { keys } = this.#limiter
    const { affect, of } = this.#options
    const replayed: Replayed = {
      entries: this.#entries,
      keys,
      run,
      maxKeys: this.#maxKeys,
      typicalUs: this.#typicalUs,
    }
    const all = of === 'keys' ? keys.count : this.#entries.count
    const found = search(candidates, replayed, of, partOf(affect, all))
    const { windowMs } = candidates
    const plateaus = plateausOf(candidates.ranges, found.affectedAt, keys.count).map((flat) => ({
      ...flat,
      keys: this.#refusedMost(found, flat.from),
    }))
    const curve = this.#curve(candidates, found, plateaus)
    return { windowMs, times, limit: found.limit, isSmallest: found.isSmallest, plateaus, curve }
  }

  /** Of the keys that a limit refuses, those with the most units. */
  #refusedMost(found: Found, limit: number): readonly string[] {
    const { texts } = this.#limiter.keys
    const { units } = this.#entries
    const refused: number[] = []
    for (let key = 0; key < texts.length; key += 1)
      if (found.isAffectedAt(key, limit)) refused.push(key)
    refused.sort((one, other) => units.of(other) - units.of(one))
    return refused.slice(0, NAMED).map((key) => texts[key] as string)
  }

  #curve(
    candidates: Candidates,
    found: Found,
    plateaus: readonly Plateau[],
  ): readonly CurvePoint[] {
    const { count } = this.#limiter.keys
    const isOfRequests = this.#options.of === 'requests'
    const around = limitsAround(candidates, found, isOfRequests)
    return withEdges(around, plateaus).map((limit) => {
      const affected = found.affectedAt(limit)
      const affectedShare = shareOfKeys(affected, count, this.#sample)
      if (!isOfRequests) return { limit, affected, affectedShare }
      const refused = found.refusedAt(limit)
      const refusedShare = refused / Math.max(1, this.#entries.count)
      return { limit, affected, affectedShare, refused, refusedShare }
    })
  }
}

/** The largest limit of a window's candidates. */
function mostIn(all: readonly Candidates[], windowMs: number): number {
  const of = all.find((candidates) => candidates.windowMs === windowMs)
  return of?.ranges.at(-1)?.most ?? 0
}

/** How many of all may be refused. A share such as 0.1 has no exact double, but 0.1 of 10 is 1. */
function partOf(affect: number, all: number): number {
  return Math.floor(affect * all + 1e-9 * all)
}

/** The limits, with the smallest of each plateau and the one below it, which affects more keys. */
function withEdges(limits: readonly number[], plateaus: readonly Plateau[]): readonly number[] {
  const edges = plateaus.flatMap(({ from }) => (from === 1 ? [from] : [from - 1, from]))
  return [...new Set([...limits, ...edges])].sort((one, other) => one - other)
}

/**
 * The limit, and others below and above it. Fewer if requests are counted, because each such limit
 * takes a replay.
 */
function limitsAround({ ranges }: Candidates, { limit }: Found, isOfRequests: boolean): number[] {
  const most = ranges.at(-1)?.most ?? 1
  const limits = new Set<number>(limit === undefined ? [] : [limit])
  const last = Math.min(most, Math.max(10, 4 * (limit ?? 1_000)))
  const factor = isOfRequests ? 1.6 : 1.25
  const first = Math.max(1, Math.floor(last / (isOfRequests ? 40 : 400)))
  for (let each = first; each <= last; each = Math.max(each + 1, Math.floor(each * factor)))
    limits.add(each)
  return [...limits].sort((one, other) => one - other)
}
