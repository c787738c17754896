// The page's drawings, made of DOM nodes.

import type { Totals } from '../protocol.js'
import { type Point, sumOf } from './history.js'

/** How much a sparkline shows. */
const SECONDS = 60
const SVG = 'http://www.w3.org/2000/svg'

function svg(
  viewBox: string,
  ...paths: readonly Readonly<Record<string, string>>[]
): SVGSVGElement {
  const drawing = document.createElementNS(SVG, 'svg')
  drawing.setAttribute('viewBox', viewBox)
  drawing.setAttribute('aria-hidden', 'true')
  for (const attributes of paths) {
    const path = document.createElementNS(SVG, 'path')
    for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, value)
    drawing.append(path)
  }
  return drawing
}

/** Weir's mark: water flowing over a weir. */
export function mark(): SVGSVGElement {
  const drawing = svg(
    '0 0 24 24',
    { d: 'M4 8h6.3c2.4 0 2.4 8 4.8 8H20', class: 'mark-water' },
    { d: 'M10.5 14v5', class: 'mark-wall' },
  )
  drawing.classList.add('mark')
  return drawing
}

/** The drawing for an empty part of the page. */
export function stillWater(): SVGSVGElement {
  const drawing = svg(
    '0 0 64 24',
    { d: 'M2 9c5 0 5 3 10 3s5-3 10-3 5 3 10 3 5-3 10-3 5 3 10 3 5-3 10-3' },
    { d: 'M12 17c5 0 5 3 10 3s5-3 10-3 5 3 10 3 5-3 10-3', class: 'faint' },
  )
  drawing.classList.add('still')
  return drawing
}

/** The last minute of a limiter in small: what was allowed, and above it what was not. */
export function sparkline(): {
  readonly element: SVGSVGElement
  readonly draw: (points: readonly Point[], nowMs: number) => void
} {
  const element = svg(`0 0 ${SECONDS} 20`, { class: 'spark-all' }, { class: 'spark-allowed' })
  element.classList.add('spark')
  element.setAttribute('preserveAspectRatio', 'none')
  const [all, allowed] = [...element.children] as [Element, Element]
  return {
    element,
    draw(points, nowMs) {
      const places = points.flatMap(({ atMs, rates }) => {
        const x = SECONDS - (nowMs - atMs) / 1_000
        return rates === null || x < 0 ? [] : [{ x, rates }]
      })
      const most = places.reduce((max, { rates }) => Math.max(max, sumOf(rates)), 0)
      const area = (of: (rates: Totals) => number): string => {
        if (places.length < 2 || most === 0) return ''
        const line = places.map(
          ({ x, rates }) => `${x.toFixed(1)} ${(20 - (19 * of(rates)) / most).toFixed(1)}`,
        )
        return `M${places[0]?.x.toFixed(1)} 20L${line.join('L')}V20Z`
      }
      all.setAttribute('d', area(sumOf))
      allowed.setAttribute(
        'd',
        area((rates) => rates.allowed + rates.shadow_denied),
      )
    },
  }
}
