// Replays a log through every algorithm at once, with @weir/simulate.

import type { Policy } from '@weir/core'
import {
  type LimiterReport,
  type LogReader,
  logReader,
  type ReadReport,
  type SimulationReport,
  simulation,
} from '@weir/simulate'
import { ALGORITHMS, type Numbers } from '../algorithms.js'
import type { AlgorithmResult, LogResult, Span } from './messages.js'
import { printable } from './printable.js'

export interface LogSimulation extends Pick<LogReader, 'write'> {
  /** The log has ended. */
  end(): LogResult
}

/**
 * Takes a log part by part.
 * @throws {Error} for an invalid key; `write` and `end` throw if the log does not fit
 */
export function logSimulation(numbers: Numbers, key: string): LogSimulation {
  const policies: Record<string, Policy> = {}
  for (const { id, policy } of ALGORITHMS) policies[id] = policy(numbers)
  const simulated = simulation({ policies, key })
  const reader = logReader({}, (entry) => simulated.add(entry))
  return {
    write: (text) => reader.write(text),
    end() {
      reader.end()
      return resultOf(simulated.report(), reader.report())
    },
  }
}

function resultOf(report: SimulationReport, read: ReadReport): LogResult {
  const { limiters } = report
  const first = limiters[0] as LimiterReport
  return {
    format: read.format,
    lines: read.lines,
    brokenCount: read.broken.count,
    broken: read.broken.first.map((each) => ({ ...each, text: printable(each.text) })),
    notes: notesOf(report, first),
    requests: first.requests,
    keys: first.keys,
    algorithms: limiters.map(algorithmOf),
  }
}

function algorithmOf({ limiter, runs }: LimiterReport): AlgorithmResult {
  const most = runs.map(({ policies }) => policies[0]?.mostInWindow)
  const largest = most.reduce((one, other) =>
    (other?.units ?? 0) > (one?.units ?? 0) ? other : one,
  )
  return {
    id: limiter,
    refused: spanOf(runs.map(({ refused }) => refused)),
    keysAffected: spanOf(runs.map(({ affected }) => affected)),
    most: largest?.units ?? 0,
    windowMs: largest?.windowMs,
    bound: largest?.bound,
    worst: (runs[0]?.mostAffected ?? [])
      .filter(({ refused }) => refused > 0)
      .map(({ key, refused, requests }) => ({ key: printable(key), refused, requests })),
  }
}

function spanOf(values: readonly number[]): Span {
  return [Math.min(...values), Math.max(...values)]
}

function notesOf({ isCoarse, order, outsideYears }: SimulationReport, first: LimiterReport) {
  const notes: string[] = []
  if (isCoarse)
    notes.push(
      'The log has whole seconds. It was replayed with all requests of a second at its start, and ' +
        'spread over it; where that makes a difference, both figures are shown.',
    )
  if (first.withoutKey > 0)
    notes.push(`${first.withoutKey} requests do not say the key; they are left out.`)
  if (order.wentBack > 0) notes.push(`The log’s time went back ${order.wentBack} times.`)
  if (outsideYears > 0)
    notes.push(`${outsideYears} requests are dated too far from the others; they are left out.`)
  return notes
}
