// A policy has as many numbers as its kernel needs: kernels with two and with five numbers, which
// are made here from the fixed window's, count like it, beside others, in memory and in Redis.

import { readFileSync } from 'node:fs'
import { type RedisServer, seedOf, startRedis, stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
// @ts-expect-error: a tool, in JavaScript
import { kernelLuaOf } from '../../../../tools/kernel-lua.mjs'
import type { Kernel, PolicyNumbers } from '../../src/algorithms/algorithm.js'
import { fixedWindow as kernel } from '../../src/algorithms/fixed-window/kernel.js'
import * as modes from '../../src/algorithms/modes.js'
import {
  isPolicy,
  makePolicy,
  type Policy,
  scaledTo,
  withLimit,
} from '../../src/algorithms/policy.js'
import { EPOCH_MS } from '../../src/base/clock.js'
import {
  fixedWindow,
  memoryStore,
  type Store,
  slidingCounter,
  slidingLog,
  tokenBucket,
} from '../../src/index.js'
import { makePolicySet } from '../../src/request.js'
import type { StoreRequest, StoreResult } from '../../src/store.js'
import { patientClient, patientStore } from './patient.js'

let server: RedisServer
let client: Redis
let nowUs = 0
beforeAll(async () => {
  server = await startRedis()
  client = await patientClient(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const START_US = (EPOCH_MS + 500 * 86_400_000) * 1_000
const text = readFileSync(
  new URL('../../src/algorithms/fixed-window/kernel.lua', import.meta.url),
  'utf8',
)

/** A fixed window's kernel with other numbers, from which it computes those of the real one. */
function madeUp(
  id: string,
  parameters: string,
  inLua: string,
  numbersOf: (numbers: PolicyNumbers) => PolicyNumbers,
): Kernel {
  const head = `return function(limit${parameters})\n  ${inLua}`
  const changed = text.replace('return function(limit, span, aligned)', head)
  const prepare = (numbers: PolicyNumbers) => kernel.prepare(numbersOf(numbers))
  return { ...kernel, id, lua: kernelLuaOf(changed, modes), prepare }
}

const twoNumbers = madeUp('two1', ', span', 'local aligned = 0', ([limit, span]) => [
  limit as number,
  span as number,
  0,
])
const fiveNumbers = madeUp(
  'five1',
  ', minutes, seconds, rest, aligned',
  'local span = minutes * 60000 + seconds * 1000 + rest',
  ([limit, minutes, seconds, rest, aligned]) => [
    limit as number,
    (minutes as number) * 60_000 + (seconds as number) * 1_000 + (rest as number),
    aligned as number,
  ],
)

function policyOf(of: Kernel, name: string, numbers: readonly number[], windowMs: number): Policy {
  const [limit] = numbers as [number]
  const timeScale = `${windowMs}ms`
  const parts = { name, algorithm: 'fixed-window', limit, windowMs, timeScale, numbers } as const
  return makePolicy({ ...parts, kernel: of, unitMs: 0, maxWaitMs: 0 })
}

const limit = 7
const two = policyOf(twoNumbers, 'two', [limit, 61_005], 61_005)
const five = policyOf(fiveNumbers, 'five', [limit + 2, 1, 1, 5, 1], 61_005)
const others = [
  tokenBucket({ name: 'bucket', capacity: 9, refill: 9, every: '40s' }),
  slidingLog({ name: 'log', limit: 8, window: '30s' }),
  slidingCounter({ name: 'counter', limit: 9, window: '50s' }),
  fixedWindow({ name: 'hour', limit: 40, window: 'hour' }),
] as const
const [ofBucket, ofLog, ofCounter, ofHour] = others

const SETS: readonly (readonly Policy[])[] = [
  [two],
  [five],
  [five, ofBucket, two],
  [ofHour, two, ofCounter, five],
  [two, ofHour, five],
  [ofLog, five, ofBucket, two, ofCounter],
]

test('as many numbers are sent as a kernel has, and a policy with another number of them is refused', () => {
  expect(twoNumbers.lua.numbers).toHaveLength(2)
  expect(fiveNumbers.lua.numbers).toHaveLength(5)
  expect(isPolicy(five)).toBe(true)
  expect(isPolicy(policyOf(fiveNumbers, 'five', [limit, 1, 1], 61_000))).toBe(false)
  expect(withLimit(five, 3).numbers).toEqual([3, 1, 1, 5, 1])
  expect(scaledTo(two, 3).numbers).toEqual([3, 61_005])
})

test('kernels with two and with five numbers decide and write in Redis as they do in memory', async () => {
  const clock = { nowUs: () => nowUs }
  const step = fc.record({
    mode: fc.constantFrom('consume', 'consume', 'consume', 'peek', 'penalty', 'refund'),
    cost: fc.constantFrom(1, 1, 1, 2, 3),
    count: fc.constantFrom(1, 1, 1, 4),
    key: fc.constantFrom('a', 'b'),
    moveMs: fc.oneof(fc.nat(3_000), fc.nat(90_000), fc.constant(0)),
  })
  const walk = fc.record({
    policies: fc.constantFrom(...SETS),
    steps: fc.array(step, { minLength: 10, maxLength: 40 }),
  })
  const seen = { granted: 0, denied: 0 }
  let run = 0
  const property = fc.asyncProperty(walk, async ({ policies, steps }) => {
    run += 1
    nowUs = START_US
    const stores = [memoryStore({ clock }), patientStore(client, { clock, prefix: `n${run}` })]
    const policySet = makePolicySet('numbers', policies)
    for (const { mode, cost, count, key, moveMs } of steps) {
      nowUs += moveMs * 1_000
      const target = { policySet, key, policyKeys: undefined }
      const request = { mode, target, costs: policies.map(() => cost), count } as StoreRequest
      const [memory, redis] = await Promise.all(stores.map((store) => decided(store, request)))
      expect(redis).toEqual(memory)
      seen[(memory?.granted as number) > 0 ? 'granted' : 'denied'] += 1
    }
    await Promise.all(stores.map((store) => (store as { close?(): Promise<void> }).close?.()))
  })
  await fc.assert(property, { numRuns: stepsOf(100, 10_000), seed: seedOf(1) })
  expect(Math.min(seen.granted, seen.denied)).toBeGreaterThan(50)
})

async function decided(store: Store, request: StoreRequest): Promise<Partial<StoreResult>> {
  const { granted, nowUs: atUs, untilUs, policies } = await store.decide(request)
  return { granted, nowUs: atUs, untilUs, policies }
}
