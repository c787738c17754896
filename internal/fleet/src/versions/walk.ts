// Random walks over two versions on one Redis, and the first difference between them.

import { randomOf } from '@weir/testkit/virtual-time'
import { type Walk, walkFrom } from './recipe.js'
import { differenceOf } from './state.js'
import { type Asked, type Pair, type Taken, WORLDS, Worlds } from './worlds.js'

export interface Difference {
  readonly walk: Walk
  /** The position in the walk. */
  readonly at: number
  /** The request with different answers; undefined if what is left in Redis differs. */
  readonly asked: Asked | undefined
  /** The answer of each world. */
  readonly said: readonly string[]
  /** All steps up to the difference. */
  readonly taken: readonly Taken[]
}

export interface Walked {
  readonly steps: number
  readonly granted: number
  readonly denied: number
  readonly difference: Difference | undefined
}

let walks = 0

/** Takes a walk to its end, or until the versions differ. */
export async function take(pair: Pair, walk: Walk): Promise<Walked> {
  walks += 1
  const worlds = new Worlds(pair, walk, `walk${walks}`)
  const taken: Taken[] = []
  const seen = { steps: 0, granted: 0, denied: 0 }
  let difference: Difference | undefined
  for (const [at, step] of walk.steps.entries()) {
    const result = await worlds.take(step)
    taken.push(result)
    for (const asked of result.requests) {
      const [earlier] = asked.answers
      seen.steps += 1
      if (earlier.startsWith('granted 0')) seen.denied += 1
      else if (earlier.startsWith('granted')) seen.granted += 1
      if (difference !== undefined || isOne(asked, walk)) continue
      difference = { walk, at, asked, said: asked.answers, taken }
    }
    if (difference !== undefined) break
  }
  const left = differenceOf(await worlds.left())
  if (difference === undefined && left !== undefined) {
    const said = [left.key, ...left.values]
    difference = { walk, at: walk.steps.length - 1, asked: undefined, said, taken }
  }
  return { ...seen, difference }
}

function isOne({ answers: [earlier, present, both] }: Asked, { isApart }: Walk): boolean {
  return earlier === present && (isApart || present === both)
}

/** The walk without the steps that the difference does not need. */
export async function smallest(pair: Pair, difference: Difference): Promise<Difference> {
  let found = difference
  for (let i = difference.at - 1; i >= 0; i -= 1) {
    const steps = found.walk.steps.filter((_, place) => place !== i && place <= found.at)
    const { difference: still } = await take(pair, { ...found.walk, steps })
    if (still !== undefined) found = still
  }
  return found
}

export function walkOf(seed: number, kinds: readonly string[]): Walk {
  return walkFrom(seed, randomOf(seed), kinds)
}

/** The difference in a form that a person can follow. */
export function told({ walk, asked, said, taken }: Difference): string {
  const { seed, kind, options, sets, isShared, startMs } = walk
  const head = [
    `seed ${seed}, ${kind}, store ${JSON.stringify(options)}`,
    ...sets.map(
      (set, i) => `  policies ${i}: ${set.map((each) => JSON.stringify(each)).join(' ')}`,
    ),
    ...(isShared.includes(true) ? [`  counted under a key that all share: ${isShared}`] : []),
  ]
  const steps = taken.flatMap(({ step, requests, atUs }) =>
    requests.map(({ ask, said: request }) => {
      const atMs = (atUs / 1_000 - startMs).toFixed(3)
      const who = step.by === 0 ? 'earlier' : 'present'
      const key = JSON.stringify(ask.key.slice(0, 10))
      return `  ${atMs} ms, ${who}, key ${key}, policies ${ask.set}: ${JSON.stringify(request)}`
    }),
  )
  const ends =
    asked === undefined
      ? [`  left in Redis under ${said[0]}:`, ...namedOf(said.slice(1))]
      : ['  which is answered:', ...namedOf(said)]
  return [...head, ...steps, ...ends].join('\n')
}

function namedOf(said: readonly string[]): string[] {
  return said.map((text, i) => `    ${WORLDS[i]}: ${text}`)
}
