// Metrics in a client library's registry. prom-client 15 and its successor need the same of a
// metric, so neither is a dependency here.

import { DEFINITIONS } from './definitions.js'
import type { Definition, Join, Metric } from './metric.js'
import { cumulative, sampleName } from './text.js'

/** The part of a registry that is used here. */
export interface Registry {
  registerMetric(metric: never): void
  removeSingleMetric(name: string): void
  getSingleMetric(name: string): unknown
}

interface Value {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  readonly metricName?: string
}

export function registered(
  registry: Registry,
  collect: () => Promise<readonly Metric[]>,
): () => void {
  const all = Object.values(DEFINITIONS).map((definition, i) => {
    return metricOf(definition, async () => (await collect())[i] as Metric)
  })
  // An OpenMetrics registry changes the names of its metrics.
  const names = all.map(({ name }) => name)
  const remove = (): void => {
    all.forEach((metric, i) => {
      const name = names[i] as string
      if (registry.getSingleMetric(name) === metric) registry.removeSingleMetric(name)
    })
  }
  for (const name of names)
    if (isOurs(registry.getSingleMetric(name))) registry.removeSingleMetric(name)
  try {
    for (const metric of all)
      (registry.registerMetric as (metric: unknown) => void).call(registry, metric)
  } catch (error) {
    // Registers all of them or none.
    remove()
    throw error
  }
  return remove
}

/** Marks the metrics of any copy of this package. */
const OURS: unique symbol = Symbol.for('@weir/metrics:registered')

function isOurs(metric: unknown): boolean {
  return (metric as { readonly [OURS]?: true } | undefined)?.[OURS] === true
}

/** How a registry combines the values of several processes. */
type Aggregator = 'sum' | 'min' | 'max'

/** Combined as within one process, except that no process is the last. */
const AGGREGATORS: Readonly<Record<Join, Aggregator>> = { sum: 'sum', least: 'min', last: 'max' }

/** A metric as registries read it. */
interface Registered {
  readonly [OURS]: true
  /** A registry of OpenMetrics takes `_total` off the name, and puts it back for each value. */
  name: string
  readonly help: string
  readonly type: Metric['type']
  readonly aggregator: Aggregator
  get(): Promise<object>
  /** Does nothing: what limiters have counted stays. */
  reset(): void
}

function metricOf(definition: Definition, read: () => Promise<Metric>): Registered {
  const { help, type, join } = definition
  const aggregator = AGGREGATORS[join]
  const made: Registered = {
    [OURS]: true,
    name: sampleName(definition),
    help,
    type,
    aggregator,
    async get() {
      return { name: made.name, help, type, aggregator, values: valuesOf(await read()) }
    },
    reset() {},
  }
  return made
}

function valuesOf(metric: Metric): Value[] {
  const name = sampleName(metric)
  return metric.points.flatMap(({ attributes, value, histogram }): Value[] => {
    if (histogram === undefined) return [{ value, labels: attributes }]
    const buckets = cumulative(histogram)
    const count = buckets.at(-1)?.count ?? 0
    return [
      ...buckets.map((bucket) => {
        const labels = { le: bucket.le, ...attributes }
        return { labels, value: bucket.count, metricName: `${name}_bucket` }
      }),
      { labels: attributes, value: histogram.sum, metricName: `${name}_sum` },
      { labels: attributes, value: count, metricName: `${name}_count` },
    ]
  })
}
