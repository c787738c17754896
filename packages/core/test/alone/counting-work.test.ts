// What counting adds to a decision, as work and not as time: the numbers that it touches, and
// bytes.

import { Session } from 'node:inspector/promises'
import { expect, test } from 'vitest'
import { fixedWindow } from '../../src/index.js'
import { LimiterCounters } from '../../src/limiter/counters.js'
import { decisionOf } from '../../src/limiter/pending-decision.js'
import { makePolicySet, resultOf } from '../../src/request.js'
import type { StoreRequest, StoreResult } from '../../src/store.js'

const policies = ['one', 'two'].map((name) => fixedWindow({ name, limit: 100, window: '1h' }))

function requestOf(mode: StoreRequest['mode'], counters?: object): StoreRequest {
  const policySet = makePolicySet('counted', policies, undefined, counters)
  return { mode, target: { policySet, key: 'k' }, costs: [1, 1], count: 1 }
}

function result(request: StoreRequest, granted: number, left: number): StoreResult {
  const reading = { left, waitMs: granted > 0 ? 0 : 1_000, resetUs: 5_000_000 }
  return resultOf(request, granted, 1_700_000_000_000_000, [reading, reading])
}

// Runs before the others, since proxies in place of arrays make V8 box numbers.

/** A boxed number takes 16 bytes. */
const LEAST_OBJECT = 12
const DECISIONS = 20_000
const ROUNDS = 60
const kept: unknown[] = new Array(1_024).fill(undefined)

test.each([
  ['allowed', 1, 50],
  ['denied', 0, 0],
])('counting a decision that is %s allocates nothing', async (_, granted, left) => {
  const plain = requestOf('consume')
  const counted = requestOf('consume', new LimiterCounters().ofSet(policies))
  const answer = result(plain, granted, left)
  const work = (request: StoreRequest) => () => {
    // Kept, since V8 could otherwise optimize unused decisions away in one of the two runs.
    for (let i = 0; i < DECISIONS; i += 1) kept[i & 1_023] = decisionOf(request, answer)
  }
  // Unoptimized code boxes numbers, so rounds go on until it is optimized, and the least counts.
  const least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] as [number, number]
  for (let round = 0; round < ROUNDS && !(least[1] - least[0] < LEAST_OBJECT); round += 1) {
    for (const [i, request] of [plain, counted].entries())
      least[i as 0] = Math.min(least[i as 0], (await allocated(work(request))) / DECISIONS)
  }
  expect(least[1] - least[0]).toBeLessThan(LEAST_OBJECT)
})

test.each<[string, StoreRequest['mode'], number, number, number]>([
  ['an allowed decision of two policies', 'consume', 1, 50, 3],
  ['one near its limit', 'consume', 1, 20, 4],
  ['a denied one', 'consume', 0, 0, 3],
  ['a penalty', 'penalty', 1, 50, 2],
  ['a refund', 'refund', 1, 50, 2],
  ['a look', 'peek', 1, 50, 0],
])('%s touches few counters', (_, mode, granted, left, expected) => {
  let touched = 0
  const watched = (cells: Float64Array) =>
    new Proxy(cells, {
      get: (target, name) => Reflect.get(target, name),
      set(target, name, value) {
        touched += 1
        return Reflect.set(target, name, value, target)
      },
    })
  const set = new LimiterCounters().ofSet(policies)
  const counters = {
    ...set,
    decisions: watched(set.decisions),
    policies: set.policies.map(watched),
  }
  const request = requestOf(mode, counters)
  decisionOf(request, result(request, granted, left))
  expect(touched).toBe(expected)
})

/** The bytes allocated by some work, whether or not they were collected since. */
async function allocated(work: () => void): Promise<number> {
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 256,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  })
  work()
  const { profile } = await session.post('HeapProfiler.stopSampling')
  session.disconnect()
  let bytes = 0
  const nodes = [profile.head]
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    bytes += node.selfSize
    nodes.push(...node.children)
  }
  return bytes
}
