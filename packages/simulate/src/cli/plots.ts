// Plots as inline SVG, in the colours of the page.

import type { Step } from '../run/series.js'
import { escaped } from './document.js'
import { asCount, asTime } from './numbers.js'

const WIDTH = 720
const HEIGHT = 180
const LEFT = 56
const BOTTOM = 22
const TOP = 8

function figure(caption: string, content: string, height: number = HEIGHT): string {
  const text = escaped(caption)
  return `<figure><figcaption>${text}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${text}">${content}</svg></figure>`
}

function text(x: number, y: number, what: string, anchor = 'start'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(what)}</text>`
}

function axes(most: string): string {
  const base = HEIGHT - BOTTOM
  return `${text(LEFT - 6, TOP + 8, most, 'end')}${text(LEFT - 6, base, '0', 'end')}
<line class="axis" x1="${LEFT}" x2="${WIDTH}" y1="${base}" y2="${base}"/>`
}

function rect(kind: string, x: number, y: number, width: number, height: number): string {
  const numbers = [x, y, width, height].map((each) => each.toFixed(2))
  const [left, top, across, down] = numbers
  return `<rect class="${kind}" x="${left}" y="${top}" width="${across}" height="${down}"/>`
}

/** Requests in each step of time, with the refused ones in red. */
export function overTime(steps: readonly Step[], caption: string): string {
  const most = Math.max(1, ...steps.map(({ requests }) => requests))
  const width = (WIDTH - LEFT) / Math.max(1, steps.length)
  const tall = HEIGHT - BOTTOM - TOP
  const bars = steps.map(({ requests, refused }, i) => {
    const x = LEFT + i * width
    const bar = (kind: string, count: number): string => {
      const height = (count / most) * tall
      return count === 0 ? '' : rect(kind, x, HEIGHT - BOTTOM - height, width, height)
    }
    return bar('all', requests) + bar('bad', refused)
  })
  const times =
    text(LEFT, HEIGHT - 6, asTime(steps[0]?.fromUs)) +
    text(WIDTH, HEIGHT - 6, asTime(steps.at(-1)?.fromUs), 'end')
  return figure(caption, axes(asCount(most)) + bars.join('') + times)
}

/** A bar for each value, the largest first. */
export function bars(
  rows: readonly { readonly label: string; readonly value: number }[],
  caption: string,
): string {
  const most = Math.max(1, ...rows.map(({ value }) => value))
  const room = WIDTH - 260
  const content = rows.map(({ label, value }, i) => {
    const y = TOP + i * 22
    const cut = label.length > 30 ? `${label.slice(0, 29)}…` : label
    const width = Math.max(1, (value / most) * room)
    return (
      text(190, y + 12, cut, 'end') +
      rect('bad', 196, y, width, 16) +
      text(202 + width, y + 12, asCount(value))
    )
  })
  return figure(caption, content.join(''), TOP + rows.length * 22 + 4)
}

/** Shares over the logarithm of the limit, with the limit that was found. */
export function curve(
  points: readonly { readonly limit: number; readonly share: number }[],
  found: number | undefined,
  caption: string,
): string {
  const most = Math.max(1e-9, ...points.map(({ share }) => share))
  const [first, last] = [points[0]?.limit ?? 1, points.at(-1)?.limit ?? 1].map((limit) =>
    Math.log(limit + 1),
  ) as [number, number]
  const xOf = (limit: number): number =>
    LEFT + 8 + ((Math.log(limit + 1) - first) / Math.max(1e-9, last - first)) * (WIDTH - LEFT - 24)
  const yOf = (share: number): number => HEIGHT - BOTTOM - (share / most) * (HEIGHT - BOTTOM - TOP)
  const places = points.map(({ limit, share }) => [xOf(limit).toFixed(1), yOf(share).toFixed(1)])
  const line = `<polyline class="curve" points="${places.map((each) => each.join()).join(' ')}"/>`
  const dots = places.map(([x, y]) => `<circle class="dot" cx="${x}" cy="${y}" r="2.5"/>`).join('')
  const x = found === undefined ? undefined : xOf(found).toFixed(1)
  const mark =
    x === undefined
      ? ''
      : `<line class="mark" x1="${x}" x2="${x}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>${text(Number(x), HEIGHT - 6, asCount(found as number), 'middle')}`
  const ends =
    text(LEFT + 8, HEIGHT - 6, asCount(points[0]?.limit ?? 0)) +
    text(WIDTH, HEIGHT - 6, asCount(points.at(-1)?.limit ?? 0), 'end')
  return figure(caption, axes(`${(most * 100).toPrecision(3)} %`) + line + dots + mark + ends)
}
