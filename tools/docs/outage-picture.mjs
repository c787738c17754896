// Draws docs/images/outage.svg: two processes before, during and after an outage, in a run in
// virtual time.
//
//   node tools/docs/outage-picture.mjs           writes the picture
//   node tools/docs/outage-picture.mjs --check   fails if the picture differs from the run
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadTs } from '../load-ts.mjs'
import { drawn } from './drawn.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const story = await loadTs(join(root, 'packages/core/test/layers/resilience/an-outage.ts'))
const { anOutage, LIMIT, DEADLINE_MS, FROZEN_FROM_MS, FROZEN_TO_MS, END_MS } = story

const WIDTH = 760
const LEFT = 110
const TITLE = `Redis is frozen for ${(FROZEN_TO_MS - FROZEN_FROM_MS) / 1_000} s. Two processes share a limit of ${LIMIT} a minute.`

const text = picture(await anOutage())
drawn('outage.svg', text, 'what the run shows')

function picture({ asked, states, probesAtMs }) {
  const passed = asked.filter(({ isAllowed }) => isAllowed).length
  const redis = [
    { fromMs: 0, toMs: FROZEN_FROM_MS, kind: 'well', text: 'answers' },
    { fromMs: FROZEN_FROM_MS, toMs: FROZEN_TO_MS, kind: 'away', text: 'frozen' },
    { fromMs: FROZEN_TO_MS, toMs: END_MS, kind: 'well', text: 'answers' },
  ]
  const kinds = { closed: 'well', open: 'away', 'half-open': 'between' }
  const breaker = states.map(({ atMs, state }, i) => ({
    fromMs: atMs,
    toMs: states[i + 1]?.atMs ?? END_MS,
    kind: kinds[state],
    text: state,
  }))
  const parts = [
    label(12, 22, TITLE, 'title'),
    label(12, 40, 'They ask 10 times a second.', 'faint'),
    row(56, 'Redis', redis),
    row(90, 'breaker', breaker),
    probes(118, probesAtMs),
    waits(136, asked),
    counts(230, asked, passed),
    ...axis(366),
  ]
  return svg(394, parts)
}

/** A bar with the spans of each state. */
function row(y, name, spans) {
  const drawn = spans.map(({ fromMs, toMs, kind, text }) => {
    const middle = (X(fromMs) + X(toMs)) / 2
    const box = `<rect class="${kind}" x="${X(fromMs)}" y="${y}" width="${r(X(toMs) - X(fromMs))}" height="24" rx="3"/>`
    return box + label(middle, y + 16.5, text, 'inside', 'middle')
  })
  return label(12, y + 16.5, name) + drawn.join('')
}

function probes(y, atMs) {
  const ticks = atMs.map((each) => `<path class="probe" d="M${X(each)} ${y}v8"/>`)
  return label(12, y + 9, 'probes', 'faint') + ticks.join('')
}

/** How long each decision took, and what made it. */
function waits(y, asked) {
  const bottom = y + 76
  const height = (tookMs) => r(bottom - (tookMs / DEADLINE_MS) * 46)
  const dots = asked.map(({ atMs, tookMs, isDegraded }) => {
    const kind = isDegraded ? 'local' : 'store'
    return `<circle class="${kind}" cx="${X(atMs)}" cy="${height(tookMs)}" r="2.5"/>`
  })
  return [
    label(12, y + 14, 'a decision takes'),
    label(LEFT - 8, height(DEADLINE_MS) + 4, `${DEADLINE_MS} ms`, 'faint', 'end'),
    `<path class="deadline" d="M${LEFT} ${height(DEADLINE_MS)}H${X(END_MS)}"/>`,
    `<path class="axis" d="M${LEFT} ${bottom}H${X(END_MS)}"/>`,
    dots.join(''),
    legend(X(13_500), y + 50),
  ].join('\n')
}

function legend(x, y) {
  const entry = (dy, kind, text) =>
    `<circle class="${kind}" cx="${x}" cy="${y + dy - 4}" r="2.5"/>${label(x + 10, y + dy, text, 'faint')}`
  return entry(0, 'store', 'decided by Redis') + entry(16, 'local', 'decided by the process')
}

/** How many requests have passed. */
function counts(y, asked, passed) {
  const bottom = y + 116
  const height = (count) => r(bottom - (count / LIMIT) * 84)
  let count = 0
  let line = `M${LEFT} ${bottom}`
  for (const { atMs, isAllowed } of asked) {
    if (isAllowed) count += 1
    line += `H${X(atMs)}V${height(count)}`
  }
  return [
    label(12, y + 14, 'passed'),
    label(LEFT - 8, height(LIMIT) + 4, `${LIMIT}`, 'faint', 'end'),
    `<path class="deadline" d="M${LEFT} ${height(LIMIT)}H${X(END_MS)}"/>`,
    `<path class="axis" d="M${LEFT} ${bottom}H${X(END_MS)}"/>`,
    `<path class="line" d="${line}H${X(END_MS)}"/>`,
    label(X(END_MS), height(LIMIT) + 20, `${passed} in all; the rest is refused`, 'faint', 'end'),
  ].join('\n')
}

function axis(y) {
  const times = [0, FROZEN_FROM_MS, 8_000, FROZEN_TO_MS, 16_000, 20_000]
  return times.map((atMs) => label(X(atMs), y, `${atMs / 1_000} s`, 'faint', 'middle'))
}

function svg(height, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>${TITLE} Their breakers open after five late decisions each; then they decide at once by themselves, until a probe succeeds.</title>
<style>
text { font: 13px system-ui, sans-serif } .title { font-weight: 600 }
${colours('#fff', '#1f2328', '#59636e', '#d1d9e0', '#1a7f37', '#cf222e', '#9a6700')}
@media (prefers-color-scheme: dark) {
${colours('#0d1117', '#f0f6fc', '#9198a1', '#3d444d', '#3fb950', '#f85149', '#d29922')}
}
</style>
<rect class="paper" width="100%" height="100%"/>
${parts.join('\n')}
</svg>
`
}

function colours(paper, ink, faint, line, well, away, between) {
  return `.paper { fill: ${paper} } text { fill: ${ink} } .faint { fill: ${faint} } .axis { stroke: ${line} }
.well, .store { fill: ${well} } .away { fill: ${away} } .between, .local { fill: ${between} }
.well, .away, .between { fill-opacity: 0.25 } .probe { stroke: ${ink} }
.line { fill: none; stroke: ${well}; stroke-width: 1.5 } .deadline { stroke: ${away}; stroke-dasharray: 5 4 }`
}

function label(x, y, text, kind = 'name', anchor = 'start') {
  return `<text class="${kind}" x="${r(x)}" y="${r(y)}" text-anchor="${anchor}">${text}</text>`
}

/** The position of a time in the picture. */
function X(atMs) {
  return r(LEFT + (atMs / END_MS) * (WIDTH - LEFT - 20))
}

/** Rounds to tenths, which is exact enough for a picture. */
function r(number) {
  return Math.round(number * 10) / 10
}
