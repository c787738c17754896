// A line chart as SVG, which follows the reader's light or dark colour scheme.

export interface Axis {
  readonly title: string
  readonly ticks: readonly number[]
  readonly unit?: string
  readonly isLog?: boolean
}

export interface Series {
  readonly title: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface Chart {
  readonly title: string
  readonly x: Axis
  readonly y: Axis
  readonly series: readonly Series[]
}

const WIDTH = 720
const HEIGHT = 320
const PLOT = { left: 64, right: 470, top: 44, bottom: 270 } as const
/** Dashes also distinguish the lines. */
const DASHES = ['none', '7 4', '2 3', '10 3 2 3', '4 2', '1 2']

export function chart({ title, x, y, series }: Chart): string {
  const toX = scale(x, PLOT.left, PLOT.right)
  const toY = scale(y, PLOT.bottom, PLOT.top)
  const label = ({ unit = '' }: Axis, value: number): string =>
    `${value.toLocaleString('en-US')}${unit}`
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">`,
    `<title>${title}</title>`,
    STYLE,
    '<rect class="paper" width="100%" height="100%"/>',
    `<text x="12" y="22" font-weight="600">${title}</text>`,
  ]
  for (const tick of y.ticks) {
    const at = toY(tick)
    lines.push(
      `<line class="axis" x1="${PLOT.left}" x2="${PLOT.right}" y1="${at}" y2="${at}"/>`,
      `<text class="faint" x="${PLOT.left - 8}" y="${at + 4}" text-anchor="end">${label(y, tick)}</text>`,
    )
  }
  for (const tick of x.ticks)
    lines.push(
      `<text class="faint" x="${toX(tick)}" y="${PLOT.bottom + 18}" text-anchor="middle">${label(x, tick)}</text>`,
    )
  const middle = (PLOT.left + PLOT.right) / 2
  lines.push(
    `<text class="faint" x="${middle}" y="${PLOT.bottom + 38}" text-anchor="middle">${x.title}</text>`,
  )
  series.forEach(({ title: name, points }, i) => {
    const path = points.map(([px, py], j) => `${j === 0 ? 'M' : 'L'}${toX(px)} ${toY(py)}`).join('')
    const dash = DASHES[i % DASHES.length]
    const height = PLOT.top + 12 + i * 22
    lines.push(
      `<path class="line l${i % 3}" stroke-dasharray="${dash}" d="${path}"/>`,
      `<path class="line l${i % 3}" stroke-dasharray="${dash}" d="M488 ${height}L516 ${height}"/>`,
      `<text x="524" y="${height + 4}">${name}</text>`,
    )
  })
  return `${[...lines, '</svg>'].join('\n')}\n`
}

/** Scales values to positions between two ends, to a tenth. */
function scale(
  { ticks, isLog = false }: Axis,
  from: number,
  to: number,
): (value: number) => number {
  const on = isLog ? Math.log10 : (value: number): number => value
  const least = on(Math.min(...ticks))
  const most = on(Math.max(...ticks))
  return (value) => {
    const part = Math.min(1, Math.max(0, (on(value) - least) / (most - least)))
    return Math.round((from + part * (to - from)) * 10) / 10
  }
}

const STYLE = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .paper { fill: #fff } .faint { fill: #59636e }
.line { fill: none; stroke-width: 2 } .axis { stroke: #d1d9e0 }
.l0 { stroke: #1a7f37 } .l1 { stroke: #0969da } .l2 { stroke: #bc4c00 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .paper { fill: #0d1117 } .faint { fill: #9198a1 } .axis { stroke: #3d444d }
.l0 { stroke: #3fb950 } .l1 { stroke: #4493f8 } .l2 { stroke: #f0883e }
}
</style>`
