// Draws docs/images/lock-out.svg: what a lock-out does to an attacker who never stops guessing. The
// run is real, on a clock that the tool moves.
//
//   node tools/docs/lock-out-picture.mjs           writes the picture
//   node tools/docs/lock-out-picture.mjs --check   fails if the picture differs from the run
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadTs } from '../load-ts.mjs'
import { drawn } from './drawn.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const weir = await loadTs(join(root, 'packages/core/src/index.ts'))
const { fakeClock } = await loadTs(join(root, 'packages/core/src/testing/clock.ts'))

const [LEFT, RIGHT] = [90, 730]
const END_MIN = 90
const EVERY_S = 20

const text = svg(await guesses())
drawn('lock-out.svg', text, 'what the run shows')

/** Wrong guesses. Each guess that begins a block also has the block's length. */
async function guesses() {
  const startMs = Date.UTC(2026, 0, 1)
  const clock = fakeClock(startMs)
  const block = ['1m', '5m', '1h']
  const policy = weir.lockout({ limit: 5, window: '15m', block, forget: '1d' })
  const limiter = new weir.RateLimiter({ store: weir.memoryStore({ clock }), policy })
  const made = []
  for (let atS = 0; atS < END_MIN * 60; atS += EVERY_S) {
    clock.set(startMs + atS * 1_000)
    const { allowed } = await limiter.consume('ann')
    const { retryAfterMs } = await limiter.peek('ann')
    made.push({ atMin: atS / 60, allowed, blockMin: allowed ? retryAfterMs / 60_000 : 0 })
  }
  return made
}

function svg(made) {
  const dots = made.map(({ atMin, allowed }) => {
    const kind = allowed ? 'pass' : 'refuse'
    return `<circle class="${kind}" cx="${X(atMin)}" cy="${allowed ? 52 : 70}" r="2.5"/>`
  })
  const blocks = made
    .filter(({ blockMin }) => blockMin > 0)
    .map(({ atMin, blockMin }) => {
      const width = r(Math.min(X(atMin + blockMin), RIGHT) - X(atMin))
      const middle = r(X(atMin) + width / 2)
      const length = blockMin < 60 ? `${blockMin}m` : `${blockMin / 60}h`
      const box = `<rect class="block" x="${X(atMin)}" y="84" width="${width}" height="24" rx="3"/>`
      return `${box}<text class="faint" x="${middle}" y="124" text-anchor="middle">${length}</text>`
    })
  const ticks = [0, 15, 30, 45, 60, 75, 90].map(
    (atMin) =>
      `<text class="faint" x="${X(atMin)}" y="150" text-anchor="middle">${atMin} min</text>`,
  )
  const granted = made.filter(({ allowed }) => allowed).length
  const title = `${made.length} guesses in ${END_MIN} minutes: ${granted} are granted`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 162" role="img">
<title>${title}. Each fifth one begins a block, of 1 minute, then of 5, then of an hour.</title>
<style>
text { font: 13px system-ui, sans-serif } .title { font-weight: 600 }
${colours('#fff', '#1f2328', '#59636e', '#1a7f37', '#cf222e')}
@media (prefers-color-scheme: dark) {
${colours('#0d1117', '#f0f6fc', '#9198a1', '#3fb950', '#f85149')}
}
</style>
<rect class="paper" width="100%" height="100%"/>
<text class="title" x="12" y="22">${title}</text>
<text x="12" y="56">granted</text><text x="12" y="74">refused</text><text x="12" y="101">blocked</text>
${[...dots, ...blocks, ...ticks].join('\n')}
</svg>
`
}

function colours(paper, ink, faint, pass, no) {
  return `.paper { fill: ${paper} } text { fill: ${ink} } .faint { fill: ${faint} }
.pass { fill: ${pass} } .refuse { fill: none; stroke: ${no} } .block { fill: ${no}; fill-opacity: 0.25 }`
}

/** The position of a time in the picture. */
function X(atMin) {
  return r(LEFT + (atMin / END_MIN) * (RIGHT - LEFT))
}

/** Rounds to tenths, which is exact enough for a picture. */
function r(number) {
  return Math.round(number * 10) / 10
}
