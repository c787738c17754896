// Simulations of log lines.

import {
  type LimiterReport,
  logReader,
  type RunReport,
  type SimulationOptions,
  type SimulationReport,
  simulation,
} from '../src/index.js'
import { combined, type Line, START_US } from './log-lines.js'

export const S = 1_000_000
/** Not a whole second, so that the log is as exact as its times. */
export const EXACT_US: number = START_US + 1

export function simulate(options: SimulationOptions, lines: readonly Line[]): SimulationReport {
  const simulated = simulation(options)
  const reader = logReader({ format: 'clf' }, (entry) => simulated.add(entry))
  reader.write(lines.map((line) => `${combined(line)}\n`).join(''))
  reader.end()
  return simulated.report()
}

export function first(report: SimulationReport): LimiterReport & { readonly run: RunReport } {
  const [limiter] = report.limiters as [LimiterReport]
  const [run] = limiter.runs as [RunReport]
  return { ...limiter, run }
}

/** Requests from an address at these seconds. */
export function at(seconds: readonly number[], more: Partial<Line> = {}): Line[] {
  return seconds.map((second) => ({ timeUs: EXACT_US + Math.round(second * S), ...more }))
}
