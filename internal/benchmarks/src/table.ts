// What a scenario measures: the figures of subjects, side by side, taken in the same run.

import { median } from './statistics.js'

/** The kind of a subject: a floor below which nobody can be, Weir, or another limiter. */
export type Kind = 'floor' | 'weir' | 'peer'

export interface Metric {
  readonly id: string
  /** The heading of its column, with the unit. */
  readonly title: string
  readonly digits: number
  /** The subject that ratios relate to; if undefined, there are no ratios. */
  readonly base?: string
}

/** One sample per round, by metric. Metrics for which a subject has no figure are left out. */
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

/** The median of the rounds; undefined if the subject has no figure. */
export function figure(table: Table, subject: string, metric: string): number | undefined {
  const samples = samplesOf(table, subject, metric)
  return samples === undefined ? undefined : median(samples)
}

function samplesOf(table: Table, subject: string, metric: string): readonly number[] | undefined {
  const samples = table.rows.find((row) => row.subject === subject)?.samples[metric]
  return samples === undefined || samples.length === 0 ? undefined : samples
}

/**
 * The figure as a multiple of another subject's: the median of the ratios of the rounds, since the
 * machine is equally fast or slow for all turns of a round. It is the ratio of the medians if the
 * samples are not of the same rounds, or if a base is not above 0, as what is added to a bare
 * server may be.
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
