// The two languages are compared: random walks through the TypeScript kernels are replayed on the
// Lua kernels. Each walk is also checked against the contract, and repeated request by request, on
// the drivers (every second walk with the other forms of the script) and on the stores.
//
// WEIR_WEEKLY=1 takes 100,000 steps per kernel, from seeds that it draws, and adds a walk that
// fails, shrunk, to differential/failures.jsonl, to be committed with the fix; those walks run
// first.

import { appendFileSync, readFileSync } from 'node:fs'
import { isShort, isWeekly, seedOf, stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkDriversOneByOne, checkSameStates, checkStores } from './differential/one-by-one.js'
import { type KernelName, kernelNames, type WalkRecipe, walks } from './differential/recipe.js'
import { replay } from './differential/replay.js'
import { takeWalk, type Walk } from './differential/walk.js'
import { keysWithoutTtl } from './no-key-for-ever.js'
import { ownRedis } from './own.js'

const STEPS = stepsOf(isShort ? 250 : 1_000, 100_000)
const WALKS_PER_ROUND = isShort ? 5 : 20
/** One look at a limit's edge in this many steps. Most waits for slots are hints, which have
 *  none. */
const LOOKS = 10
const LOOKS_AT_SLOTS = 40

interface Failure {
  readonly kernel: KernelName
  readonly seed: number
  readonly recipe: WalkRecipe
}
const failureFile = new URL('./differential/failures.jsonl', import.meta.url)
const failures = readFileSync(failureFile, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Failure)

// A separate server, whose count of changes shows what is written.
const { server, client } = await ownRedis()

let walked = 0

async function check(recipe: WalkRecipe): Promise<Walk> {
  const walk = takeWalk(recipe)
  walked += 1
  await replay(client, walk, `merged${walked}`)
  const isOther = walked % 2 === 0
  const form = { hasLiteralKeys: isOther, repliesInText: isOther }
  await checkDriversOneByOne(client, walk, `single${walked}`, form)
  await checkSameStates(client, walk, `merged${walked}`, `single${walked}`)
  // The stores are asked step by step, with a round trip for each: not in every walk.
  const steady =
    !walk.wentBack &&
    recipe.versions.length === 1 &&
    walk.calls.every(({ mode }) => mode !== 'restore')
  if (steady) await checkStores(client, walk, `stores${walked}`)
  return walk
}

describe.each(kernelNames)('%s', (kernel) => {
  const failed = failures.filter((failure) => failure.kernel === kernel)
  test.runIf(failed.length > 0).each(failed)(
    'the walk that failed with seed $seed',
    async ({ recipe }) => {
      await check(recipe)
    },
  )

  test(`memory and Redis agree over ${STEPS} random steps`, {
    timeout: 120_000 + STEPS * 10,
  }, async ({ signal }) => {
    const sums = { steps: 0, denials: 0, onTheDot: 0 }
    const property = fc.asyncProperty(walks(kernel), async (recipe) => {
      // What timed out takes no more walks.
      if (signal.aborted) return
      const walk = await check(recipe)
      sums.steps += walk.steps
      sums.denials += walk.denials
      sums.onTheDot += walk.onTheDot
    })
    // Walks must reach limits and look at their edges. How often they do differs with the seed,
    // around a tenth of the steps, so the test asks for a number of looks and not for a fraction.
    const looks = STEPS / (kernel === 'concurrency' ? LOOKS_AT_SLOTS : LOOKS)
    const isEnough = () => sums.steps >= STEPS && sums.denials > STEPS / 5 && sums.onTheDot > looks
    for (let seed = seedOf(1); !isEnough() && sums.steps < 2 * STEPS; seed += 1) {
      const details = await fc.check(property, {
        seed,
        numRuns: WALKS_PER_ROUND,
        includeErrorInReport: true,
      })
      if (signal.aborted) return
      if (!details.failed) continue
      const [recipe] = details.counterexample as [WalkRecipe]
      if (isWeekly) appendFileSync(failureFile, `${JSON.stringify({ kernel, seed, recipe })}\n`)
      throw new Error(await fc.asyncDefaultReportMessage(details))
    }
    expect(sums.denials).toBeGreaterThan(STEPS / 5)
    expect(sums.onTheDot).toBeGreaterThan(looks)
  })
})

test('no walk left a key without a TTL', async () => {
  expect(await client.dbsize()).toBeGreaterThan(0)
  expect(await keysWithoutTtl(server)).toEqual([])
})
