// Plain requests are answered by a loop that is made of the same functions as the driver's kernels.
// Both must give the same replies, and leave the same states and TTLs, whatever the policies and
// the contents of keys.

import { type RedisServer, seedOf, startRedis, stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Policy } from '../../src/algorithms/policy.js'
import { EPOCH_MS } from '../../src/base/clock.js'
import {
  fixedWindow,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
import { unpackNumbers } from '../../src/redis/transport/msgpack.js'
import { scriptOf } from '../../src/redis/transport/script.js'
import { makePolicySet } from '../../src/request.js'
import { patientClient } from './patient.js'

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = await patientClient(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const START_MS = EPOCH_MS + 500 * 86_400_000
/** For states that only a clock ahead of this one could have written. */
const AHEAD_MS = 100_000
const tick = START_MS - EPOCH_MS

type Factory = (limit: number, window: number, name: string) => Policy
/** For each kernel, its factory and states that its keys may hold. */
const kinds: { make: Factory; states: (readonly string[])[] }[] = [
  {
    make: (capacity, every, name) => tokenBucket({ name, capacity, refill: capacity || 1, every }),
    states: [[`${(tick + AHEAD_MS) * 8_000}`], [`${tick * 8_000}`], ['0'], ['-5'], ['05']],
  },
  {
    make: (limit, window, name) => fixedWindow({ name, limit, window, aligned: window % 2 === 0 }),
    states: [[`3:${START_MS + AHEAD_MS}`], [`2:${START_MS + 3}`], ['1:1'], ['1.5:3']],
  },
  {
    make: (limit, window, name) => slidingLog({ name, limit, window }),
    states: [
      [`${tick + AHEAD_MS}:2:2`],
      ['1:1:1', `${tick - 1}:2:3`, `${tick}:1:4`],
      ['1:1:1', 'x', `${tick}:1:2`, `${tick}:1:3`],
      [`${tick - 1}:4:4`, 'x', `${tick}:1:6`],
      ['x'],
    ],
  },
  {
    make: (limit, window, name) => slidingWindow({ name, limit, window, parts: 2 }),
    states: [[`${tick + AHEAD_MS}:2:2`], ['1:1:1', `${tick}:2:3`]],
  },
  {
    make: (limit, window, name) => slidingCounter({ name, limit, window }),
    states: [[`${START_MS + AHEAD_MS}:2:3`], [`${START_MS - 7}:5:1`], ['1:2:3'], ['1:2']],
  },
]

const drawnPolicy = fc.record({
  kind: fc.nat(kinds.length - 1),
  limit: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5 }), fc.constant(100)),
  window: fc.constantFrom(1, 10, 1_001, 60_000),
})
const walk = fc.record({
  policies: fc.array(drawnPolicy, { minLength: 1, maxLength: 5 }),
  /** By policy and key: undefined for nothing, -1 for a value of another type. */
  states: fc.array(fc.option(fc.integer({ min: -1, max: 5 }), { nil: undefined }), {
    maxLength: 15,
  }),
  withoutTtl: fc.boolean(),
  calls: fc.array(
    fc.record({
      asked: fc.array(fc.record({ key: fc.nat(2), count: fc.constantFrom(1, 1, 1, 2, 4, 150) }), {
        minLength: 1,
        maxLength: 6,
      }),
      moveUs: fc.oneof(
        fc.integer({ min: 0, max: 3_000 }),
        fc.integer({ min: -50_000, max: 500_000 }),
        fc.constantFrom(60_000_000, 30_000_001, -120_000_000),
      ),
    }),
    { minLength: 1, maxLength: 12 },
  ),
})

const RUNS = stepsOf(100, 4_000)
let runs = 0

test('the loop over plain requests and the driver answer and write the same', async () => {
  const seen = { granted: 0, some: 0, denied: 0, foreign: 0 }
  const property = fc.asyncProperty(
    walk,
    async ({ policies: drawn, states, withoutTtl, calls }) => {
      runs += 1
      const begunMs = performance.now()
      const policies = drawn.map(({ kind, limit, window }, i) =>
        (kinds[kind] as (typeof kinds)[number]).make(limit, window, `policy${i}`),
      )
      const { source } = scriptOf(makePolicySet('plain', policies))
      const numbers = policies.flatMap((policy) => policy.numbers.map(String))
      const keysOf = (side: string, of: readonly number[]) =>
        of.flatMap((key) => policies.map((_, i) => `${runs}:${side}:${key}:${i}`))
      const all = [0, 1, 2]

      for (const side of ['loop', 'driver']) {
        const preparing = client.pipeline()
        keysOf(side, all).forEach((key, place) => {
          const { kind } = drawn[place % drawn.length] as (typeof drawn)[number]
          const state = states[place]
          if (state === undefined) return
          if (state < 0) preparing.hset(key, 'a', '1')
          else {
            const { states: some } = kinds[kind] as (typeof kinds)[number]
            const entries = some[state % some.length] as readonly string[]
            if (kind === 2 || kind === 3) preparing.rpush(key, ...entries)
            else preparing.set(key, entries[0] as string)
          }
          if (!withoutTtl) preparing.pexpire(key, 650_000)
        })
        await preparing.exec()
      }

      let nowUs = START_MS * 1_000
      for (const { asked, moveUs } of calls) {
        nowUs += moveUs
        const counts = asked.map(({ count }) => `${count}`)
        const areSingle = asked.every(({ count }) => count === 1)
        const priced = counts.flatMap((count) => [count, ...policies.map(() => '1')])
        const carried = [
          ['loop', areSingle ? [] : counts],
          ['driver', priced],
        ] as const
        const [loop, driver] = await Promise.all(
          carried.map(async ([side, carried]) => {
            const names = keysOf(
              side,
              asked.map(({ key }) => key),
            )
            const args = [...numbers, `${nowUs}`, 'consume', ...carried]
            const packed = await client.callBuffer('EVAL', source, names.length, ...names, ...args)
            return unpackNumbers(packed as Buffer)
          }),
        )
        expect(loop).toEqual(driver)
        for (let at = 1; at < (loop?.length ?? 0); at += 1 + 3 * policies.length) {
          const granted = loop?.[at] as number
          const count = asked[(at - 1) / (1 + 3 * policies.length)]?.count as number
          const some = granted > 0 && granted < count && 'some'
          seen[some || (granted < 0 ? 'foreign' : granted > 0 ? 'granted' : 'denied')] += 1
        }
        const [ofLoop, ofDriver] = [
          await kept(keysOf('loop', all)),
          await kept(keysOf('driver', all)),
        ]
        expect(ofLoop.map(({ state }) => state)).toEqual(ofDriver.map(({ state }) => state))
        ofLoop.forEach(({ ttlMs }, i) => {
          // Real time passes between the two, but no more than the walk has taken.
          const passedMs = performance.now() - begunMs
          expect(Math.abs(ttlMs - (ofDriver[i]?.ttlMs as number))).toBeLessThan(passedMs + 10)
        })
      }
    },
  )
  await fc.assert(property, { numRuns: RUNS, seed: seedOf(1) })
  const { some, ...others } = seen
  expect(some).toBeGreaterThan(RUNS / 2)
  expect(Math.min(...Object.values(others))).toBeGreaterThan(RUNS)
})

/** The content of keys, and their TTLs. */
async function kept(keys: readonly string[]): Promise<{ state: unknown; ttlMs: number }[]> {
  return Promise.all(
    keys.map(async (key) => {
      const type = await client.type(key)
      const isList = type === 'list'
      const state = isList ? client.lrange(key, 0, -1) : type === 'string' && client.get(key)
      return { state: [type, await state], ttlMs: await client.pttl(key) }
    }),
  )
}
