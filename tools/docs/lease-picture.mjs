// Draws docs/images/leases.svg: how much of a hot key a process holds, and when it asks Redis, in a
// run in virtual time.
//
//   node tools/docs/lease-picture.mjs           writes the picture
//   node tools/docs/lease-picture.mjs --check   fails if the picture differs from the run
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadTs } from '../load-ts.mjs'
import { drawn } from './drawn.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const story = await loadTs(join(root, 'packages/core/test/layers/some-leases.ts'))
const { someLeases, END_MS, HOLD_MS } = story

const [LEFT, RIGHT] = [110, 730]
const [TOP, BOTTOM] = [76, 170]

const text = picture(await someLeases())
drawn('leases.svg', text, 'what the run shows')

function picture({ calls, held, decisions }) {
  const most = Math.max(...held.map(({ units }) => units))
  const Y = (units) => r(BOTTOM - (units / most) * (BOTTOM - TOP))
  const line = held.map(({ atMs, units }) => `H${X(atMs)}V${Y(units)}`).join('')
  const ticks = calls.map(({ atMs }) => `<path class="call" d="M${X(atMs)} 44v12"/>`)
  const times = [0, 500, 1_000, 1_500].map(
    (atMs) => `<text class="faint" x="${X(atMs)}" y="190" text-anchor="middle">${atMs} ms</text>`,
  )
  const title = `${decisions.toLocaleString('en')} decisions on one key in ${END_MS / 1_000} s, ${calls.length} calls to Redis`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 202" role="img">
<title>${title}. Leases last up to ${HOLD_MS} ms: they grow until they have about what is asked for in that time.</title>
<style>
text { font: 13px system-ui, sans-serif } .title { font-weight: 600 }
${colours('#fff', '#1f2328', '#59636e', '#d1d9e0', '#1a7f37')}
@media (prefers-color-scheme: dark) {
${colours('#0d1117', '#f0f6fc', '#9198a1', '#3d444d', '#3fb950')}
}
</style>
<rect class="paper" width="100%" height="100%"/>
<text class="title" x="12" y="22">${title}</text>
<text x="12" y="55">calls</text><text x="12" y="${TOP + 14}">units held</text>
<text class="faint" x="${LEFT - 8}" y="${TOP + 14}" text-anchor="end">${most}</text>
${ticks.join('')}
<path class="axis" d="M${LEFT} ${BOTTOM}H${RIGHT}"/>
<path class="line" d="M${LEFT} ${BOTTOM}${line}H${RIGHT}V${BOTTOM}"/>
${times.join('')}
</svg>
`
}

function colours(paper, ink, faint, line, held) {
  return `.paper { fill: ${paper} } text { fill: ${ink} } .faint { fill: ${faint} } .axis { stroke: ${line} }
.call { stroke: ${ink} } .line { fill: ${held}; fill-opacity: 0.2; stroke: ${held} }`
}

/** The position of a time in the picture. */
function X(atMs) {
  return r(LEFT + (atMs / END_MS) * (RIGHT - LEFT))
}

/** Rounds to tenths, which is exact enough for a picture. */
function r(number) {
  return Math.round(number * 10) / 10
}
