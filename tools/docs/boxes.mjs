// Boxes, labels and arrows as SVG, in colours for light and for dark pages.

/** The background of a picture, and the parts that all pictures share. */
export function svg({ width, height, title, parts }) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
<title>${escaped(title)}</title>
<style>
text { font: 13px system-ui, sans-serif } .name { font-weight: 600 } .small { font-size: 11px }
${colours('#fff', '#1f2328', '#59636e', '#d1d9e0', '#ddf4ff', '#0969da')}
@media (prefers-color-scheme: dark) {
${colours('#0d1117', '#f0f6fc', '#9198a1', '#3d444d', '#121d2f', '#4493f8')}
}
</style>
<rect class="paper" width="100%" height="100%"/>
${parts.join('\n')}
</svg>
`
}

function colours(paper, ink, faint, line, way, mark) {
  return `.paper, .room, .package { fill: ${paper} } text { fill: ${ink} } .what { fill: ${faint} }
.room, .package, .frame { stroke: ${line} } .frame { fill: none } .way { fill: ${way}; stroke: ${mark} }
.mark { fill: ${mark} } .digit { fill: ${paper}; font-weight: 600 } .arrow { stroke: ${mark}; fill: ${mark} }`
}

export function box(x, y, width, height, kind) {
  return `<rect class="${kind}" x="${r(x)}" y="${r(y)}" width="${r(width)}" height="${r(height)}" rx="6"/>`
}

export function label(x, y, text, kind, anchor = 'start') {
  return `<text class="${kind}" x="${r(x)}" y="${r(y)}" text-anchor="${anchor}">${escaped(text)}</text>`
}

export function number(x, y, digit) {
  return `<circle class="mark" cx="${x}" cy="${r(y)}" r="10"/><text class="digit" x="${x}" y="${r(y + 4.5)}" text-anchor="middle">${digit}</text>`
}

export function arrowDown(x, from, to) {
  const [left, right] = [r(x - 4), r(x + 4)]
  return `<path class="arrow" d="M${r(x)} ${r(from)}V${r(to - 6)}M${left} ${r(to - 7)}H${right}L${r(x)} ${r(to)}Z"/>`
}

export function arrowRight(y, from, to) {
  const [above, below] = [r(y - 4), r(y + 4)]
  return `<path class="arrow" d="M${r(from)} ${r(y)}H${r(to - 6)}M${r(to - 7)} ${above}V${below}L${r(to)} ${r(y)}Z"/>`
}

/** Rounds to tenths, which is exact enough for a picture. */
function r(number) {
  return Math.round(number * 10) / 10
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
