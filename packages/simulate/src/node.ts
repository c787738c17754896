// Simulations of log files.

import { type CompareReport, type ComparisonOptions, comparison } from './compare.js'
import { type LogOptions, type LogsReport, readLogs } from './files/read-logs.js'
import type { LogEntry } from './log/entry.js'
import type { SimulationReport } from './report.js'
import { type SimulationOptions, simulation } from './simulation.js'
import { type SuggestionOptions, type SuggestionReport, suggestion } from './suggestion.js'

export { policiesIn } from './files/policies-file.js'
export type { LogOptions, LogsReport, Progress } from './files/read-logs.js'
export type { LogSource } from './files/texts.js'

/** A report, and how the logs were read. */
export type OfLogs<Report> = Report & { readonly log: LogsReport }

/**
 * Replays log files through limiters.
 * @throws {SimulateError} rejects with what `simulation` throws, and WEIR_LOG_UNREADABLE
 * @example
 * const policies = slidingWindow({ limit: 100, window: '1m' })
 * const { limiters } = await simulateLog({ logs: ['access.log', 'access.log.1.gz'], policies })
 */
export async function simulateLog(
  options: SimulationOptions & LogOptions,
): Promise<OfLogs<SimulationReport>> {
  return run(options, simulation(options))
}

/**
 * Replays log files through two sets of policies and says what changes. Rejects with what
 * `simulateLog` rejects with.
 */
export async function compareLogs(
  options: ComparisonOptions & LogOptions,
): Promise<OfLogs<CompareReport>> {
  return run(options, comparison(options))
}

/**
 * Finds limits that fit log files. Rejects with what `suggestion` throws, and WEIR_LOG_UNREADABLE.
 * @example await suggestLog({ logs: ['access.log'], affect: 0.001, windows: ['1m'] })
 */
export async function suggestLog(
  options: SuggestionOptions & LogOptions,
): Promise<OfLogs<SuggestionReport>> {
  return run(options, suggestion(options))
}

async function run<Report extends object>(
  options: LogOptions,
  into: { add(entry: LogEntry): void; report(): Report },
): Promise<OfLogs<Report>> {
  const log = await readLogs(options, (entry) => into.add(entry))
  return { ...into.report(), log }
}
