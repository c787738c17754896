// Prometheus's text formats: 0.0.4, and OpenMetrics 1.0 for clients that ask for it.

import type { HistogramStats } from '@weir/core/store'
import type { Metric, Point } from './metric.js'
import type { Work } from './slices.js'

export const TEXT = 'text/plain; version=0.0.4; charset=utf-8'
export const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/** Units that are part of a metric's name. Those in braces, and 1, are not. */
const UNITS: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes' }

/** The name of a metric, without the ending `_total` of counters. */
function familyName({ name, unit }: Pick<Metric, 'name' | 'unit'>): string {
  const ending = UNITS[unit]
  return name.replace(/\./g, '_') + (ending === undefined ? '' : `_${ending}`)
}

export function sampleName(metric: Pick<Metric, 'name' | 'unit' | 'type'>): string {
  return familyName(metric) + (metric.type === 'counter' ? '_total' : '')
}

/** @param isOpen in the format of OpenMetrics */
export function* textOf(metrics: readonly Metric[], isOpen: boolean): Work<string> {
  const lines: string[] = []
  for (const metric of metrics) {
    const family = isOpen ? familyName(metric) : sampleName(metric)
    const name = sampleName(metric)
    lines.push(`# HELP ${family} ${escaped(metric.help, isOpen)}`)
    lines.push(`# TYPE ${family} ${metric.type}`)
    const unit = UNITS[metric.unit]
    if (isOpen && unit !== undefined) lines.push(`# UNIT ${family} ${unit}`)
    for (const point of metric.points) {
      const before = lines.length
      if (point.histogram !== undefined) lines.push(...histogramLines(family, point))
      else lines.push(`${name}${labels(point.attributes)} ${number(point.value)}`)
      yield lines.length - before
    }
  }
  if (isOpen) lines.push('# EOF')
  return `${lines.join('\n')}\n`
}

function histogramLines(family: string, { attributes, histogram }: Point): string[] {
  const buckets = cumulative(histogram as HistogramStats)
  const lines = buckets.map(({ le, count }) => {
    return `${family}_bucket${labels({ ...attributes, le })} ${number(count)}`
  })
  const { sum } = histogram as HistogramStats
  lines.push(`${family}_sum${labels(attributes)} ${number(sum)}`)
  lines.push(`${family}_count${labels(attributes)} ${number(buckets.at(-1)?.count ?? 0)}`)
  return lines
}

/** Buckets as Prometheus counts them: each includes all below it. */
export function cumulative({ bounds, counts }: HistogramStats): { le: string; count: number }[] {
  let count = 0
  return counts.map((each, i) => {
    count += each
    const bound = bounds[i]
    // With a fraction, which OpenMetrics requires.
    const le = bound === undefined ? '+Inf' : Number.isInteger(bound) ? `${bound}.0` : `${bound}`
    return { le, count }
  })
}

function labels(attributes: Point['attributes']): string {
  const all = Object.entries(attributes)
  if (all.length === 0) return ''
  return `{${all.map(([name, value]) => `${name}="${escaped(value, true)}"`).join(',')}}`
}

function escaped(text: string, withQuotes: boolean): string {
  const plain = text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')
  return withQuotes ? plain.replace(/"/g, '\\"') : plain
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value)
}

/** Whether a client prefers OpenMetrics to plain text, by its header `Accept`. */
export function wantsOpenMetrics(accept: string | undefined): boolean {
  // No real client sends a longer one.
  if (accept === undefined || accept.length > 1_000) return false
  let open = 0
  let plain = 0
  for (const range of accept.split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const weight = parameters.find((each) => each.startsWith('q='))
    const q = weight === undefined ? 1 : Number(weight.slice(2))
    if (!(q >= 0 && q <= 1)) continue
    const version = parameters.find((each) => each.startsWith('version='))
    if (type === 'application/openmetrics-text') {
      if (version === undefined || version === 'version=1.0.0') open = Math.max(open, q)
    } else if (type === 'text/plain' || type === 'text/*') plain = Math.max(plain, q)
  }
  return open > 0 && open >= plain
}
