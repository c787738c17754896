// What a scenario measures: figures of subjects, side by side, taken in the same run.

import { median } from './statistics.js'

/** What a subject is: a floor that nobody can be below, Weir, or another limiter. */
export type Kind = 'floor' | 'weir' | 'peer'

export interface Metric {
  readonly id: string
  /** Heading of its column, with the unit. */
  readonly title: string
  readonly digits: number
  /** Which is better: the best peer is the one with the least, or the most. */
  readonly better: 'less' | 'more'
  /** The subject that ratios are taken to; if undefined, there are none. */
  readonly base?: string
  /** Peers' ratios to the base as an earlier, independent measurement found them, by subject. */
  readonly expected?: Readonly<Record<string, number>>
}

/** One sample per round, by metric. A metric that a subject has no figure for is left out. */
export type Samples = Readonly<Record<string, readonly number[]>>

export interface Row {
  readonly subject: string
  readonly kind: Kind
  readonly samples: Samples
}

export interface Table {
  readonly id: string
  readonly title: string
  readonly metrics: readonly Metric[]
  readonly rows: readonly Row[]
}

/** The median over the rounds; undefined where the subject has no figure. */
export function figure(table: Table, subject: string, metric: string): number | undefined {
  const samples = samplesOf(table, subject, metric)
  return samples === undefined ? undefined : median(samples)
}

function samplesOf(table: Table, subject: string, metric: string): readonly number[] | undefined {
  const samples = table.rows.find((row) => row.subject === subject)?.samples[metric]
  return samples === undefined || samples.length === 0 ? undefined : samples
}

/**
 * The figure as a multiple of another subject's: the median of the rounds' ratios, since the
 * machine is as fast or as slow for all turns of a round. The ratio of the medians where samples
 * are not of the same rounds, or a base is not above 0, as what is added to a bare server may be.
 */
export function multiple(
  table: Table,
  subject: string,
  base: string,
  metric: string,
): number | undefined {
  const [own, other] = [samplesOf(table, subject, metric), samplesOf(table, base, metric)]
  if (own === undefined || other === undefined) return undefined
  return own.length === other.length && other.every((value) => value > 0)
    ? median(own.map((value, round) => value / (other[round] as number)))
    : median(own) / median(other)
}

/** The figure as a multiple of the metric's base. */
export function ratio(table: Table, subject: string, metric: Metric): number | undefined {
  return metric.base === undefined ? undefined : multiple(table, subject, metric.base, metric.id)
}

/** Of the peers that have a figure, the one with the best. */
export function bestPeer(table: Table, metric: Metric): Row | undefined {
  let best: Row | undefined
  let bestFigure = metric.better === 'less' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
  for (const row of table.rows) {
    const value = row.kind === 'peer' ? figure(table, row.subject, metric.id) : undefined
    if (value === undefined) continue
    if (metric.better === 'less' ? value >= bestFigure : value <= bestFigure) continue
    best = row
    bestFigure = value
  }
  return best
}
