// Draws docs/images/simulate.svg: the output of `weir simulate` for a log, and the plot of its
// page. The run is real; the log is always the same.
//
//   node tools/docs/simulate-picture.mjs           writes the picture, after a build
//   node tools/docs/simulate-picture.mjs --check   fails if the picture differs from the run
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { loadTs } from '../load-ts.mjs'
import { drawn } from './drawn.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const simulate = join(root, 'packages/simulate')
const { command } = await loadTs(join(simulate, 'src/cli.ts'))
const { combined, START_US } = await loadTs(join(simulate, 'test/log-lines.ts'))
const { chance } = await loadTs(join(simulate, 'test/chance.ts'))

const COMMAND = ['access.log', '--limit', '100', '--window', '1m']
const MINUTE_US = 60_000_000
const LASTS_US = 120 * MINUTE_US
const [WIDTH, LINE] = [860, 17]
const PLOT = { scale: 1.15, height: 207 }

const text = svg(await run())
drawn('simulate.svg', text, 'what the run shows')

async function run() {
  const folder = mkdtempSync(join(tmpdir(), 'weir-picture-'))
  try {
    const [log, html] = ['access.log', 'page.html'].map((name) => join(folder, name))
    writeFileSync(log, `${requests().join('\n')}\n`)
    const lines = []
    const io = {
      out: (block) => lines.push(...block.split('\n')),
      progress: undefined,
      input: Readable.from([]),
      env: {},
      signal: new AbortController().signal,
    }
    const [, ...options] = COMMAND
    await command('simulate', [log, ...options, '--html', html], io, {})
    const page = readFileSync(html, 'utf8')
    const [, about, plot] = /<figcaption>(.*?)<.*?<svg [^>]*>(.*?)<\/svg>/s.exec(page)
    return { lines: [...lines, `${about}:`], plot }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Two hours of 250 clients, an office that shares an address, and a crawler that comes twice. */
function requests() {
  const random = chance(38)
  const made = []
  const come = (ip, everyUs, fromUs = 0, untilUs = LASTS_US) => {
    for (let atUs = fromUs + random() * everyUs; atUs < untilUs; ) {
      made.push({ ip, timeUs: START_US + 1 + Math.floor(atUs) })
      atUs += everyUs * (0.2 + 1.6 * random())
    }
  }
  for (let i = 0; i < 250; i += 1) come(`198.51.100.${i}`, MINUTE_US / (0.2 + 3 * random()))
  come('203.0.113.80', MINUTE_US / 96)
  for (const fromMin of [35, 85])
    come('192.0.2.66', MINUTE_US / 900, fromMin * MINUTE_US, (fromMin + 9) * MINUTE_US)
  return made.sort((one, other) => one.timeUs - other.timeUs).map((line) => combined(line))
}

function svg({ lines, plot }) {
  const rows = [`$ npx weir simulate ${COMMAND.join(' ')}`, ...lines].map((line, i) => {
    const kind = i === 0 ? ' class="typed"' : ''
    return line === '' ? '' : `<text${kind} x="16" y="${28 + i * LINE}">${escaped(line)}</text>`
  })
  const below = 28 + rows.length * LINE
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${below + PLOT.height + 16}" role="img">
<title>${escaped(lines[0])}: who would have been refused, and when</title>
<style>
text { font: 11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre }
.typed { font-weight: 600 } .plot { font: 11px system-ui, sans-serif }
${colours('#fff', '#1b1f24', '#5d6873', '#d5dae0', '#9db4cc', '#c4382b')}
@media (prefers-color-scheme: dark) {
${colours('#14181c', '#e3e8ed', '#9aa6b2', '#363f48', '#47617c', '#f0776b')}
}
</style>
<rect class="paper" width="100%" height="100%" rx="6"/>
${rows.filter((row) => row !== '').join('\n')}
<g transform="translate(16 ${below}) scale(${PLOT.scale})">${plot.replaceAll('<text ', '<text class="plot" ')}</g>
</svg>
`
}

function colours(paper, ink, dim, line, all, bad) {
  return `.paper { fill: ${paper}; stroke: ${line} } text { fill: ${ink} } .plot { fill: ${dim} }
.axis { stroke: ${line} } .all { fill: ${all} } .bad { fill: ${bad} }`
}

function escaped(line) {
  return line.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
