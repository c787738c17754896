// Draws docs/images: what each policy does with the same requests. The runs are real, on a clock
// that the tool moves.
//
//   node tools/docs/pictures.mjs           writes the pictures
//   node tools/docs/pictures.mjs --check   fails if the pictures differ from the runs
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadTs } from '../load-ts.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const weir = await loadTs(join(root, 'packages/core/src/index.ts'))
const { inRepository } = await loadTs(
  join(root, 'packages/core/src/algorithms/repository.generated.ts'),
)
const { fakeClock } = await loadTs(join(root, 'packages/core/src/testing/clock.ts'))

const LIMIT = 10
const WINDOW_S = 60
const END_S = 130

/** When requests come, in seconds: one, a burst, another one ten seconds later, then a trickle. */
const demand = [0, ...burst(50), ...burst(60), ...trickle(72)]

const pictures = Object.fromEntries(
  Object.values(inRepository)
    .flatMap(({ policies }) => Object.entries(policies))
    .filter(([, { picture }]) => picture !== undefined)
    .map(([name, { picture }]) => {
      const policy = weir[name](picture)
      return [policy.algorithm, panel(`${name}(${optionsText(picture)})`, policy)]
    }),
)
const files = Object.entries(pictures).map(([name, one]) => [`${name}.svg`, svg([one])])
files.push([
  'burst.svg',
  svg([
    { ...pictures['fixed-window'], title: 'A fixed window of 10 a minute' },
    { ...pictures['sliding-window'], title: "Weir's default, 10 a minute" },
  ]),
])

const folder = join(root, 'docs/images')
const wrong = files.filter(([name, text]) => {
  return !existsSync(join(folder, name)) || readFileSync(join(folder, name), 'utf8') !== text
})
if (process.argv.includes('--check')) {
  if (wrong.length > 0) {
    console.error(
      `docs/images is not what the runs show: ${wrong.map(([name]) => name).join(', ')}`,
    )
    process.exitCode = 1
  }
} else {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of wrong) writeFileSync(join(folder, name), text)
}

function optionsText(options) {
  const texts = Object.entries(options).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return `{ ${texts.join(', ')} }`
}

function burst(fromS) {
  return Array.from({ length: 12 }, (_, i) => fromS + i * 0.7)
}

function trickle(fromS) {
  return Array.from({ length: Math.floor((END_S - fromS) / 3) }, (_, i) => fromS + i * 3)
}

/** A run, and the most that passed in any window of a minute. */
function panel(title, policy) {
  const startMs = Date.UTC(2026, 0, 1)
  const clock = fakeClock(startMs)
  const limiter = new weir.RateLimiter({ store: weir.memoryStore({ clock }), policy })
  const calls = demand.map((atS) => {
    clock.set(startMs + atS * 1_000)
    return { atS, allowed: limiter.decide('u42').allowed }
  })
  const passed = calls.filter(({ allowed }) => allowed).map(({ atS }) => atS)
  const inWindow = (atS) => passed.filter((each) => each <= atS && each > atS - WINDOW_S).length
  return { title, calls, passed, inWindow, most: Math.max(...passed.map(inWindow)) }
}

function svg(panels) {
  const [width, height] = [720, 190]
  const drawn = panels.map(
    (one, i) => `<g transform="translate(0 ${i * height})">${drawing(one)}</g>`,
  )
  const titles = panels.map(({ title, most }) => `${title}: at most ${most} passed in a minute.`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height * panels.length}" role="img">
<title>${escaped(titles.join(' '))}</title>
<style>
text { font: 13px system-ui, sans-serif }
${colours({ paper: '#fff', ink: '#1f2328', faint: '#59636e', line: '#d1d9e0', pass: '#1a7f37', no: '#cf222e' })}
@media (prefers-color-scheme: dark) {
${colours({ paper: '#0d1117', ink: '#f0f6fc', faint: '#9198a1', line: '#3d444d', pass: '#3fb950', no: '#f85149' })}
}
</style>
<rect class="paper" width="100%" height="100%"/>
${drawn.join('\n')}
</svg>
`
}

function colours({ paper, ink, faint, line, pass, no }) {
  return `.paper { fill: ${paper} } text { fill: ${ink} } .faint { fill: ${faint} } .axis { stroke: ${line} }
.pass { fill: ${pass} } .refuse { fill: none; stroke: ${no} } .limit { stroke: ${no}; stroke-dasharray: 5 4 }
.area { fill: ${pass}; fill-opacity: 0.2; stroke: ${pass} }`
}

/** The position of a time and of a count in the picture. */
function X(atS) {
  return 50 + (atS / END_S) * 650
}
function Y(count) {
  return 160 - count * 4.2
}

function drawing({ title, calls, passed, inWindow, most }) {
  const over = most > LIMIT ? `${most} in a minute` : `never more than ${LIMIT} in a minute`
  const dots = calls.map(({ atS, allowed }) => {
    const kind = allowed ? 'pass' : 'refuse'
    return `<circle class="${kind}" cx="${r(X(atS))}" cy="${allowed ? 40 : 54}" r="3"/>`
  })
  const edges = [...passed, ...passed.map((atS) => atS + WINDOW_S)].filter((atS) => atS <= END_S)
  const steps = [...new Set(edges)].sort((one, other) => one - other)
  const line = steps.map((atS) => `H${r(X(atS))}V${r(Y(inWindow(atS)))}`).join('')
  const ticks = [0, 30, 60, 90, 120].map(
    (atS) => `<text class="faint" x="${r(X(atS))}" y="178" text-anchor="middle">${atS} s</text>`,
  )
  return `
<text x="12" y="20" font-weight="600">${escaped(title)}</text><text x="708" y="20" text-anchor="end">${passed.length} of ${calls.length} pass, ${over}</text>
<text class="faint" x="12" y="44">pass</text><text class="faint" x="12" y="58" font-size="11">refused</text>
${dots.join('')}
<text class="faint" x="50" y="82">passed in the last minute</text>
<path class="area" d="M${X(0)} ${Y(0)}${line}H${X(END_S)}V${Y(0)}Z"/>
<line class="limit" x1="50" x2="700" y1="${Y(LIMIT)}" y2="${Y(LIMIT)}"/><text class="faint" x="44" y="${Y(LIMIT) + 4}" text-anchor="end">${LIMIT}</text>
<line class="axis" x1="50" x2="700" y1="160" y2="160"/>${ticks.join('')}`
}

/** Rounds to tenths, which is exact enough for a picture. */
function r(number) {
  return Math.round(number * 10) / 10
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', "'")
}
