// The page's drawings, made of DOM nodes.

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
