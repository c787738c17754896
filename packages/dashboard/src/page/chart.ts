// A limiter's rates over time as stacked areas.

import uPlot from 'uplot'
import { OUTCOMES, type Outcome } from '../totals.js'
import { clock, measured } from './format.js'
import { KEPT_MS, type Point } from './history.js'

const HEIGHT = 148
const SHORTEST_MS = 60_000
const NARROW_PX = 480

export interface Chart {
  /** Draws the points. */
  readonly draw: (points: readonly Point[]) => void
  /** Redraws in the current colours. */
  readonly recolour: () => void
}

/** A chart in an element, as wide as the element. `onPoint` is called with the point under the
 *  pointer; undefined: none. */
export function chartIn(element: HTMLElement, onPoint: (point: Point | undefined) => void): Chart {
  let points: readonly Point[] = []
  let plot: uPlot | undefined

  const width = (): number => Math.max(120, Math.floor(element.clientWidth))
  const make = (): void => {
    plot?.destroy()
    const cursorAt = (index: number | null | undefined): void =>
      onPoint(index === null || index === undefined ? undefined : points[index])
    plot = new uPlot(optionsFor(element, width(), cursorAt), dataOf(points), element)
  }
  const resizing = new ResizeObserver(() => {
    if (plot !== undefined && plot.width !== width())
      plot.setSize({ width: width(), height: HEIGHT })
  })
  resizing.observe(element)
  return {
    draw(next) {
      points = next
      if (plot === undefined) make()
      else plot.setData(dataOf(points))
    },
    recolour() {
      if (plot !== undefined) make()
    },
  }
}

/** The series, each summed with those below it, the topmost first: each is painted over the one
 *  before. */
const PAINTED: readonly Outcome[] = [...OUTCOMES].reverse()

function dataOf(points: readonly Point[]): uPlot.AlignedData {
  const times = points.map(({ atMs }) => atMs / 1_000)
  const series = PAINTED.map((top) => {
    const stacked = OUTCOMES.slice(0, OUTCOMES.indexOf(top) + 1)
    return points.map(({ rates }) =>
      rates === null ? null : stacked.reduce((sum, outcome) => sum + rates[outcome], 0),
    )
  })
  return [times, ...series]
}

function optionsFor(
  element: HTMLElement,
  width: number,
  onCursor: (index: number | null | undefined) => void,
): uPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const font = `11px ${style.fontFamily}`
  const axis = { stroke: colour('--muted'), font, ticks: { show: false }, gap: 6 }
  const grid = { stroke: colour('--grid'), width: 1 }
  return {
    width,
    height: HEIGHT,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false, setScale: false },
      points: { show: false },
      sync: { key: 'weir' },
    },
    hooks: { setCursor: [(self: uPlot) => onCursor(self.cursor.idx)] },
    scales: {
      x: { time: true, range: (_self, _min, max) => timeRange(max, element) },
      y: { range: (_self, _min, max) => [0, topOf(max)] },
    },
    axes: [
      { ...axis, size: 24, space: 58, grid: { show: false }, values: times },
      { ...axis, size: width < NARROW_PX ? 38 : 46, space: 26, grid, values: numbers },
    ],
    series: [
      {},
      ...PAINTED.map((outcome) => ({
        label: outcome,
        fill: colour(`--fill-${outcome}`),
        stroke: colour(`--line-${outcome}`),
        width: 1,
        points: { show: false },
      })),
    ],
  }
}

/** One to five minutes: the range grows, so that the first minute already fills the chart. */
function timeRange(max: number, element: HTMLElement): [number, number] {
  const last = Number.isFinite(max) && max > 0 ? max : Date.now() / 1_000
  const span = Math.min(KEPT_MS, Math.max(SHORTEST_MS, Number(element.dataset.spanMs ?? 0)))
  return [last - span / 1_000, last]
}

/** A round number with some air above the highest point. */
function topOf(max: number): number {
  if (!(max > 0)) return 1
  const step = 10 ** Math.floor(Math.log10(max))
  return Math.ceil((max * 1.05) / (step / 4)) * (step / 4)
}

/** A tick's time, with seconds where ticks are closer than a minute. */
function times(
  _self: uPlot,
  splits: number[],
  _axis: number,
  _space: number,
  step: number,
): string[] {
  return splits.map((at) => clock(at * 1_000, at * 1_000).slice(0, step < 60 ? 8 : 5))
}

function numbers(_self: uPlot, splits: number[]): string[] {
  return splits.map((at) => measured(at))
}
