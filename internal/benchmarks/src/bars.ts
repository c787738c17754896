// Stacked bars as SVG, which follow the reader's light or dark colour scheme.

export interface Bars {
  readonly title: string
  /** The names of the parts of each bar. */
  readonly parts: readonly string[]
  readonly groups: readonly { readonly title: string; readonly rows: readonly Bar[] }[]
}

interface Bar {
  readonly name: string
  readonly isOurs: boolean
  /** One for each part. */
  readonly values: readonly number[]
}

const WIDTH = 720
const LEFT = 250
const RIGHT = 660
const ROW = 20
/** The height of a group's title, with the space above it. */
const HEAD = 30

export function bars({ title, parts, groups }: Bars): string {
  const rows = groups.flatMap((group) => group.rows)
  const perUnit = (RIGHT - LEFT) / Math.max(...rows.map(totalOf))
  const lines = [
    `<title>${title}</title>`,
    STYLE,
    '<rect class="paper" width="100%" height="100%"/>',
    `<text x="12" y="22" font-weight="600">${title}</text>`,
  ]
  parts.forEach((part, i) => {
    const x = LEFT + i * 190
    lines.push(
      `<rect class="p${i}" x="${x}" y="36" width="12" height="12"/>`,
      `<text x="${x + 18}" y="46">${part}</text>`,
    )
  })
  let y = 52
  for (const group of groups) {
    y += HEAD
    lines.push(`<text class="faint" x="12" y="${y - 8}">${group.title}</text>`)
    for (const row of group.rows) {
      lines.push(barOf(row, y, perUnit))
      y += ROW
    }
  }
  const height = y + 12
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    ...lines,
    '</svg>\n',
  ].join('\n')
}

function barOf(bar: Bar, y: number, perUnit: number): string {
  const weight = bar.isOurs ? ' font-weight="600"' : ''
  const name = `<text x="${LEFT - 8}" y="${y + 12}" text-anchor="end"${weight}>${bar.name}</text>`
  let x = LEFT
  const rects = bar.values.map((value, i) => {
    const width = tenths(value * perUnit)
    const rect = `<rect class="p${i}" x="${x}" y="${y + 1}" width="${width}" height="${ROW - 5}"/>`
    x = tenths(x + width)
    return rect
  })
  const total = `<text class="faint" x="${x + 6}" y="${y + 12}">${totalOf(bar).toFixed(1)}</text>`
  return [name, ...rects, total].join('')
}

function totalOf({ values }: Bar): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10
}

const STYLE = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .paper { fill: #fff } .faint { fill: #59636e }
.p0 { fill: #1a7f37 } .p1 { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .paper { fill: #0d1117 } .faint { fill: #9198a1 }
.p0 { fill: #3fb950 } .p1 { fill: #f0883e }
}
</style>`
