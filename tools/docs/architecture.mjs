// Draws docs/images/architecture.svg from the tree: the packages, and the folders of
// packages/core/src from the ground up, each with its description in CONTRIBUTING.md. A folder that
// is in only one of the two is an error.
//
//   node tools/docs/architecture.mjs           writes the picture
//   node tools/docs/architecture.mjs --check   fails if the picture differs from the tree
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { arrowDown, box, label, number, svg } from './boxes.mjs'
import { drawn } from './drawn.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The path of a request, as numbered in the picture. */
const WAY = ['http', 'limiter', 'layers', 'redis', 'algorithms']
const WIDTH = 760
const ROOM = { left: 190, lines: 74, line: 16, gap: 6, padding: 9 }

const text = picture(packages(), rooms())
drawn('architecture.svg', text, 'what the tree has')

/** The published packages besides core. */
function packages() {
  return readdirSync(join(root, 'packages')).filter((name) => name !== 'core')
}

/** From the top down: names, and what each has. */
function rooms() {
  const guide = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  const [, table = ''] = guide.split('`packages/core/src`, from the ground up:')
  const rows = [...table.split('\n\n')[1].matchAll(/^\| (`.*`) \| (.*) \|$/gm)]
  const named = rows.map(([, names, what]) => ({
    names: [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    what: what.replaceAll('`', ''),
  }))
  const known = named.flatMap(({ names }) => names)
  const there = readdirSync(join(root, 'packages/core/src'), { withFileTypes: true })
    .map((entry) => entry.name)
    .filter((name) => name !== 'index.ts')
  const wrong = [
    ...there.filter((name) => !known.includes(name)),
    ...known.filter((name) => !there.includes(name)),
  ]
  if (wrong.length > 0)
    throw new Error(`CONTRIBUTING.md and packages/core/src differ in ${wrong.join(', ')}`)
  return named.reverse()
}

function picture(packages, rooms) {
  const boxes = []
  const wide = (WIDTH - 24 - (packages.length - 1) * 8) / packages.length
  packages.forEach((name, i) => {
    const left = 12 + i * (wide + 8)
    boxes.push(box(left, 12, wide, 40, 'package'))
    boxes.push(label(left + wide / 2, 37, `@weir/${name}`, 'name', 'middle'))
  })
  let top = 98
  boxes.push(arrowDown(12 + wide / 2, 52, 74), label(24, 92, '@weir/core', 'name'))
  for (const { names, what } of rooms) {
    const lines = wrapped(what)
    const height = 2 * ROOM.padding + lines.length * ROOM.line
    const step = WAY.indexOf(names[0]) + 1
    boxes.push(box(24, top, WIDTH - 48, height, step > 0 ? 'way' : 'room'))
    if (step > 0) boxes.push(number(44, top + height / 2, step))
    boxes.push(label(64, top + height / 2 + 4.5, names.map(shortened).join(', '), 'name'))
    lines.forEach((line, i) => {
      const y = top + ROOM.padding + 12 + i * ROOM.line
      boxes.push(label(ROOM.left + 40, y, line, 'what'))
    })
    top += height + ROOM.gap
  }
  const bottom = top + 6
  const frame = box(12, 74, WIDTH - 24, bottom - 74, 'frame')
  const redis = [
    arrowDown(12 + wide / 2, bottom, bottom + 22),
    box(12, bottom + 22, WIDTH - 24, 36, 'package'),
    label(WIDTH / 2, bottom + 45, 'Redis: one script decides, in one step', 'name', 'middle'),
  ]
  return svg({
    width: WIDTH,
    height: bottom + 70,
    title: 'The packages, the rooms of @weir/core from the ground up, and the way of a request',
    parts: [frame, ...boxes, ...redis],
  })
}

/** Lines of at most `ROOM.lines` characters. */
function wrapped(text) {
  const lines = ['']
  for (const word of text.split(' ')) {
    if (`${lines.at(-1)} ${word}`.length > ROOM.lines) lines.push('')
    lines.push(`${lines.pop()} ${word}`.trim())
  }
  return lines
}

function shortened(name) {
  return name.replace(/\.ts$/, '')
}
