// Draws docs/images/decision.svg: the path of one decision, and which layers may answer it. The
// layers must be in the order of `layersOver` in packages/core/src/redis/store.ts.
//
//   node tools/docs/decision.mjs           writes the picture
//   node tools/docs/decision.mjs --check   fails if the picture differs from the layers
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { arrowDown, arrowRight, box, label, svg } from './boxes.mjs'
import { drawn } from './drawn.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The code that makes each layer, from the innermost to the outermost. */
const MADE = ['new Resilience(', 'acrossSlots(', 'new Leases(', 'withDenyCache(']

/** From left to right: what each layer does, and when it answers, with the decision's `source`. */
const STEPS = [
  { name: 'Limiter', does: ['chooses key, policies', 'and cost'] },
  {
    name: 'Deny cache',
    does: ['remembers denials', 'for up to 1 s'],
    answers: ['denied a moment ago', "source: 'cache'"],
  },
  {
    name: 'Leases, by choice',
    does: ['units of a hot key,', 'taken ahead'],
    answers: ['units are left', "source: 'lease'"],
  },
  {
    name: 'Deadline, breaker',
    does: ['waits 100 ms at most', 'for Redis'],
    answers: ['Redis is slow or away', "source: 'local'"],
  },
  {
    name: 'Redis',
    does: ['one script: all policies', 'allow, or none charged'],
    answers: ['in all other cases', "source: 'store'"],
  },
]
const BOX = { left: 8, top: 40, width: 136, height: 74, gap: 16 }
const ANSWER = { top: 190, height: 36 }

checkLayers(readFileSync(join(root, 'packages/core/src/redis/store.ts'), 'utf8'))
const text = picture()
drawn('decision.svg', text, 'what the layers are')

function checkLayers(source) {
  const [, made = ''] = source.split('export function layersOver(')
  const places = MADE.map((layer) => made.indexOf(layer))
  if (places.some((place, i) => place < 0 || place < (places[i - 1] ?? 0)))
    throw new Error(
      `layersOver no longer makes ${MADE.join(', ')} in this order: draw what it does`,
    )
}

function picture() {
  const { left, top, width, height, gap } = BOX
  const bottom = top + height
  const parts = [label(left, 24, 'A request', 'name')]
  STEPS.forEach(({ name, does, answers }, i) => {
    const x = left + i * (width + gap)
    const middle = x + width / 2
    if (i > 0) parts.push(arrowRight(top + height / 2, x - gap, x))
    parts.push(box(x, top, width, height, 'way'))
    parts.push(label(middle, top + 24, name, 'name', 'middle'))
    does.forEach((line, k) => {
      parts.push(small(middle, top + 44 + k * 16, line))
    })
    if (answers === undefined) return
    parts.push(arrowDown(middle, bottom, ANSWER.top))
    answers.forEach((line, k) => {
      parts.push(beside(middle, bottom + 26 + k * 16, line))
    })
  })
  const wide = STEPS.length * width + (STEPS.length - 1) * gap
  parts.push(box(left, ANSWER.top, wide, ANSWER.height, 'package'))
  const decision = 'A decision: allowed, with what is left; or denied, with how long to wait'
  parts.push(label(left + wide / 2, ANSWER.top + 23, decision, 'name', 'middle'))
  return svg({
    width: wide + 2 * left,
    height: ANSWER.top + ANSWER.height + 10,
    title: `The way of one decision: ${STEPS.map(({ name }) => name).join('; ')}. Each may answer.`,
    parts,
  })
}

function small(x, y, line) {
  return label(x, y, line, 'what small', 'middle')
}

/** On a background, so that the arrow behind the text does not cross it. */
function beside(x, y, line) {
  return `<rect class="paper" x="${x - 66}" y="${y - 12}" width="132" height="17"/>${small(x, y, line)}`
}
