// The two languages are held together: random walks through the TypeScript kernels, replayed on the Lua kernels. Each walk
// is also held to the contract, and taken once more request by request, on the memory store and on the Redis store.
//
//   WEIR_STEPS=1000000 npx vitest run test/redis/differential   walks on for as many steps per kernel
//
// Seeds are fresh in each run. One that fails is added to differential/seeds.json, to be committed with the fix: those
// are replayed first.

import { readFileSync, writeFileSync } from 'node:fs'
import { type RedisServer, startRedis } from '@weir/testkit'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkOneByOne, checkSameStates } from './differential/one-by-one.js'
import { type KernelName, kernelNames, walks } from './differential/recipe.js'
import { replay } from './differential/replay.js'
import { takeWalk } from './differential/walk.js'
import { keysWithoutTtl } from './no-key-for-ever.js'

const STEPS = Number(process.env.WEIR_STEPS ?? 10_000)
const WALKS_PER_ROUND = 20

interface Seed {
  readonly kernel: KernelName
  readonly seed: number
  readonly path: string
}
const seedFile = new URL('./differential/seeds.json', import.meta.url)
const kept = JSON.parse(readFileSync(seedFile, 'utf8')) as Seed[]

let server: RedisServer
let client: Redis
beforeAll(async () => {
  // A server of its own: what is written is told by how many changes the server counts.
  server = await startRedis()
  client = new Redis(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

let walked = 0

/** Runs one round of walks, and adds to `sums` what they did. */
async function round(kernel: KernelName, options: fc.Parameters<unknown>, sums: Sums): Promise<void> {
  const property = fc.asyncProperty(walks(kernel), async (recipe) => {
    const walk = takeWalk(recipe)
    const [merged, single] = [`merged${walked}`, `single${walked}`]
    walked += 1
    await replay(client, walk, merged)
    await checkOneByOne(client, walk, single)
    await checkSameStates(client, walk, merged, single)
    sums.steps += walk.steps
    sums.denials += walk.denials
    sums.onTheDot += walk.onTheDot
  })
  const details = await fc.check(property, options)
  if (!details.failed) return
  keep({ kernel, seed: details.seed, path: details.counterexamplePath ?? '' })
  throw new Error(await fc.asyncDefaultReportMessage(details), { cause: details.errorInstance })
}

interface Sums {
  steps: number
  denials: number
  onTheDot: number
}

function keep(seed: Seed): void {
  if (kept.some((known) => known.kernel === seed.kernel && known.seed === seed.seed)) return
  kept.push(seed)
  writeFileSync(seedFile, `${JSON.stringify(kept, undefined, 2)}\n`)
}

describe.each(kernelNames)('%s', (kernel) => {
  const seeds = kept.filter((seed) => seed.kernel === kernel)
  test.runIf(seeds.length > 0).each(seeds)('seed $seed, which failed once', async ({ seed, path }) => {
    await round(kernel, { seed, path, endOnFailure: true, includeErrorInReport: true }, nothing())
  })

  test(`memory and Redis agree over ${STEPS} random steps`, { timeout: 60_000 + STEPS * 10 }, async () => {
    const first = Number(process.env.WEIR_SEED ?? Math.floor(Math.random() * 2 ** 31))
    console.log(`${kernel}: seed ${first} (WEIR_SEED=${first} takes the same walks)`)
    const sums = nothing()
    for (let seed = first; sums.steps < STEPS; seed += 1) {
      await round(kernel, { seed, numRuns: WALKS_PER_ROUND, includeErrorInReport: true }, sums)
    }
    // A walk that never meets a limit, or never looks at its edge, would prove nothing.
    expect(sums.denials / sums.steps).toBeGreaterThan(1 / 5)
    expect(sums.onTheDot / sums.steps).toBeGreaterThan(1 / 10)
  })
})

test('no walk left a key without a TTL', async () => {
  expect(await client.dbsize()).toBeGreaterThan(0)
  expect(await keysWithoutTtl(server)).toEqual([])
})

function nothing(): Sums {
  return { steps: 0, denials: 0, onTheDot: 0 }
}
