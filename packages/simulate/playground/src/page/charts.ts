// Pictures of a run. They stretch to the available width, so they contain no text.

import { COLUMNS, type Columns } from '../run.js'
import { drawn } from './dom.js'

/** Above and below the middle line, in units of the picture. */
const HALF = 50
const LEFT_HEIGHT = 40

export interface Frame {
  readonly endMs: number
  /** Times to mark with a line, in ms since the traffic began. */
  readonly edgesMs: readonly number[]
  /** The span to shade; undefined: none. */
  readonly shaded: { readonly fromMs: number; readonly ms: number } | undefined
  /** The picture in words, for screen readers. */
  readonly label: string
}

function picture(height: number, label: string, name: string): SVGSVGElement {
  return drawn('svg', {
    viewBox: `0 0 ${COLUMNS} ${height}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': label,
    class: `chart ${name}`,
  })
}

/**
 * Passed requests, upwards, and refused ones, downwards, by column.
 * @param most the most requests in a column of any picture that is compared
 */
export function ticks(
  { passed, refused }: Pick<Columns, 'passed' | 'refused'>,
  most: number,
  frame: Frame,
): SVGSVGElement {
  const svg = picture(2 * HALF, frame.label, 'ticks')
  svg.append(...background(frame, 2 * HALF))
  svg.append(
    drawn('path', { class: 'passed', d: bars(passed, most, -1) }),
    drawn('path', { class: 'refused', d: bars(refused, most, 1) }),
    drawn('path', { class: 'axis', d: `M0 ${HALF}H${COLUMNS}` }),
  )
  return svg
}

/** A column's bar is at least a tenth of the tallest, so that a single request can be seen. */
function bars(counts: readonly number[], most: number, direction: 1 | -1): string {
  return counts
    .map((count, column) => {
      if (count === 0) return ''
      const height = direction * HALF * (0.1 + 0.88 * Math.sqrt(count / most))
      return `M${column} ${HALF}v${rounded(height)}h1V${HALF}z`
    })
    .join('')
}

/** What is left over time, a line for each key. */
export function leftover(
  left: Columns['left'],
  capacity: number,
  frame: Pick<Frame, 'endMs' | 'edgesMs' | 'shaded' | 'label'>,
): SVGSVGElement {
  const svg = picture(LEFT_HEIGHT, frame.label, 'leftover')
  svg.append(...background(frame, LEFT_HEIGHT))
  left.forEach((units, key) => {
    const line = units.map((count, column) => {
      const y = rounded(LEFT_HEIGHT - 1 - (count / capacity) * (LEFT_HEIGHT - 3))
      return column === 0 ? `M0 ${y}H1` : `V${y}H${column + 1}`
    })
    const d = line.join('')
    const area = `${d}V${LEFT_HEIGHT}H0z`
    if (key === 0) svg.append(drawn('path', { class: 'left-area', d: area }))
    svg.append(drawn('path', { class: `left-line key-${key}`, d }))
  })
  return svg
}

function background({ endMs, edgesMs, shaded }: Frame, height: number): SVGElement[] {
  const x = (ms: number): number => rounded((ms * COLUMNS) / endMs)
  const parts: SVGElement[] = []
  if (shaded !== undefined) {
    const width = Math.min(COLUMNS, x(shaded.ms))
    parts.push(drawn('rect', { class: 'window', x: x(shaded.fromMs), y: 0, width, height }))
  }
  const lines = edgesMs.map((ms) => `M${x(ms)} 0V${height}`).join('')
  if (lines !== '') parts.push(drawn('path', { class: 'edges', d: lines }))
  return parts
}

/**
 * The most that passed in any window, as a bar, with a mark at the limit and one at the bound.
 * Its text stands beside it.
 */
export function gauge(most: number, limit: number, bound: number, full: number): SVGSVGElement {
  const x = (units: number): number => rounded((units / full) * COLUMNS)
  const svg = drawn('svg', {
    viewBox: `0 0 ${COLUMNS} 10`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
    class: 'chart gauge',
  })
  svg.append(
    drawn('rect', { class: 'rail', x: 0, y: 3, width: x(bound), height: 4 }),
    drawn('rect', { class: 'most', x: 0, y: 3, width: x(Math.min(most, limit)), height: 4 }),
  )
  if (most > limit) {
    const width = x(most) - x(limit)
    svg.append(drawn('rect', { class: 'beyond', x: x(limit), y: 3, width, height: 4 }))
  }
  for (const [name, units] of [
    ['limit', limit],
    ['bound', bound],
  ] as const)
    svg.append(drawn('path', { class: `mark ${name}`, d: `M${x(units)} 0V10` }))
  return svg
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
