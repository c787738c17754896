// The form of a metric, for all exporters. Names, units and attributes follow OpenTelemetry's
// conventions; prometheus.ts turns them into Prometheus's names.

import type { HistogramStats } from '@weir/core/store'

/** A metric and its values now. */
export interface Metric {
  /** Such as `weir.decisions`. */
  readonly name: string
  /** `counter`: it only grows while the process lives. */
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** `s`, `By`, `1`, or what is counted, such as `{decision}`. */
  readonly unit: string
  /** What it means. */
  readonly help: string
  /** Each with attributes of its own. */
  readonly points: readonly Point[]
}

/** One series. */
export interface Point {
  /** Such as `limiter`. Never a key or an address. */
  readonly attributes: Readonly<Record<string, string>>
  /** The value of a counter or gauge; for a histogram, the sum of all values. */
  readonly value: number
  /** Only for a histogram. */
  readonly histogram?: HistogramStats
}

/** How points with equal attributes become one: two limiters may have one name. */
export type Join = 'sum' | 'least' | 'last'

/** A metric that is being written. */
export interface Writer {
  add(attributes: Point['attributes'], value: number): void
  histogram(attributes: Point['attributes'], stats: HistogramStats): void
}

/** The fixed part of a metric. */
export interface Definition extends Omit<Metric, 'points'> {
  readonly join: Join
}

interface Made {
  readonly metric: Metric
  readonly writer: Writer
}

export function written(definition: Definition): Made {
  const { join, ...fixed } = definition
  const points = new Map<string, Point>()
  const put = (point: Point): void => {
    const id = JSON.stringify(Object.values(point.attributes))
    const known = points.get(id)
    points.set(id, known === undefined ? point : joined(known, point, join))
  }
  return {
    metric: {
      ...fixed,
      get points() {
        return [...points.values()]
      },
    },
    writer: {
      add(attributes, value) {
        put({ attributes, value })
      },
      histogram(attributes, stats) {
        put({ attributes, value: stats.sum, histogram: stats })
      },
    },
  }
}

function joined(one: Point, other: Point, join: Join): Point {
  const { attributes } = one
  if (join === 'last') return other
  if (join === 'least') return { attributes, value: Math.min(one.value, other.value) }
  const value = one.value + other.value
  if (one.histogram === undefined || other.histogram === undefined) return { attributes, value }
  const { bounds, counts } = one.histogram
  const more = other.histogram.counts
  const sums = counts.map((count, i) => count + (more[i] ?? 0))
  return { attributes, value, histogram: { bounds, counts: sums, sum: value } }
}
