// Draws docs/images/overload.svg and adaptive.svg: runs of the simulation that the tests use.
//
//   node tools/docs/load-pictures.mjs           writes the pictures
//   node tools/docs/load-pictures.mjs --check   fails if the pictures differ from the runs
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadTs } from '../load-ts.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const core = (path) => loadTs(join(root, 'packages/core', path))
const { inFlightLimit } = await core('src/overload/in-flight.ts')
const { adaptiveIn } = await core('src/overload/adaptive.ts')
const { responses } = await core('src/entries/adaptive.ts')
const { tokenBucket } = await core('src/index.ts')
const { RateLimiter, memoryStore } = await core('src/index.ts')
const { play, scenario } = await core('test/overload/scenarios.ts')

const END_S = 50
const STEP_S = 0.5
const traffic = scenario('a dependency 5 times as slow', 16, false, 20, END_S * 1_000)
const MOST = 800

function watch(time, look) {
  time.after(STEP_S * 1_000, () => {
    look()
    watch(time, look)
  })
}

/** A run, as the figures of each half second. */
function series(gateOf) {
  const watched = []
  const { run } = play(traffic, 1, (time) => gateOf(time, watched))
  const steps = Array.from({ length: END_S / STEP_S }, () => ({ count: 0, sumMs: 0 }))
  for (const { atMs, tookMs } of run.served) {
    const step = steps[Math.floor(atMs / 1_000 / STEP_S)]
    if (step === undefined) continue
    step.count += 1
    step.sumMs += tookMs
  }
  return {
    served: steps.map(({ count }) => count / STEP_S),
    meanMs: steps.map(({ count, sumMs }) => (count === 0 ? 0 : sumMs / count)),
    watched,
  }
}

const open = series(() => () => () => {})
const guarded = series((time, watched) => {
  const limit = inFlightLimit(undefined, time)
  watch(time, () => watched.push(limit.limit))
  return () => {
    const ticket = limit.enter()
    return ticket && ((ending) => limit.leave(ticket, ending))
  }
})
const followed = series((time, watched) => {
  const signal = responses({ latency: 30 })
  const full = tokenBucket({ capacity: 32, refill: 2 * MOST, every: '1s' })
  const policy = adaptiveIn(time, full, { signal, min: 1 / 32 })
  const store = memoryStore({ clock: time })
  const limiter = new RateLimiter({ name: 'api', store, policy })
  watch(time, () => watched.push(policy.factor))
  return () => (limiter.decide('all').allowed ? (_, tookMs) => signal.record(tookMs) : undefined)
})

const served = (values) => ({ title: 'served a second', most: 900, unit: '', values })
const latency = (values) => ({ title: 'mean response time', most: 600, unit: ' ms', values })
const files = [
  [
    'overload.svg',
    svg('16 workers, 20 ms a request, asked for three times what they serve', [
      { ...latency(open.meanMs), title: 'Without a limit: mean response time' },
      { ...latency(guarded.meanMs), title: 'overload(): mean response time' },
      { ...served(guarded.served), title: 'overload(): served a second' },
      { title: 'overload(): the limit', most: 50, unit: '', values: guarded.watched },
    ]),
  ],
  [
    'adaptive.svg',
    svg('adaptive() by response times, for 1,600 a second where 800 can be served', [
      { title: 'the factor', most: 1, unit: '', values: followed.watched },
      served(followed.served),
      latency(followed.meanMs),
    ]),
  ],
]

const folder = join(root, 'docs/images')
const wrong = files.filter(([name, text]) => {
  return !existsSync(join(folder, name)) || readFileSync(join(folder, name), 'utf8') !== text
})
if (process.argv.includes('--check')) {
  if (wrong.length > 0) {
    console.error(`${wrong.map(([name]) => name).join(', ')}: not what the runs show`)
    process.exitCode = 1
  }
} else {
  for (const [name, text] of wrong) writeFileSync(join(folder, name), text)
}

function svg(title, panels) {
  const height = 30 + panels.length * 120 + 20
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 ${height}" role="img">
<title>${title}. The pool is 5 times as slow from 15 to 35 s.</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .paper { fill: #fff } .faint { fill: #59636e }
.slow { fill: #cf222e; fill-opacity: 0.08 } .line { fill: none; stroke: #1a7f37; stroke-width: 1.5 } .axis { stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .paper { fill: #0d1117 } .faint { fill: #9198a1 } .line { stroke: #3fb950 } .axis { stroke: #3d444d }
}
</style>
<rect class="paper" width="100%" height="100%"/>
<text x="12" y="20" font-weight="600">${title}</text>
${panels.map((panel, i) => `<g transform="translate(0 ${30 + i * 120})">${drawing(panel)}</g>`).join('\n')}
${[0, 10, 20, 30, 40, 50].map((atS) => `<text class="faint" x="${X(atS)}" y="${height - 6}" text-anchor="middle">${atS} s</text>`).join('')}
</svg>
`
}

function X(atS) {
  return 60 + atS * 12.8
}

function drawing({ title, most, unit, values }) {
  const Y = (value) => Math.round((110 - (Math.min(value, most) / most) * 80) * 10) / 10
  const points = values.map(
    (value, i) => `${i === 0 ? 'M' : 'L'}${X((i + 1) * STEP_S)} ${Y(value)}`,
  )
  const over = Math.max(...values) > most ? ' (and above)' : ''
  return `<rect class="slow" x="${X(15)}" y="30" width="${X(35) - X(15)}" height="80"/>
<text class="faint" x="60" y="22">${title}</text>
<text class="faint" x="54" y="36" text-anchor="end">${most}${unit}</text><text class="faint" x="700" y="22" text-anchor="end">${over}</text>
<line class="axis" x1="60" x2="700" y1="110" y2="110"/>
<path class="line" d="${points.join('')}"/>`
}
