// The bytes that a decision allocates. In a separate file, since code that has seen only these
// policies and stores is optimized as in an app.

import { Session } from 'node:inspector/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryStore, RateLimiter, tokenBucket } from '../../src/index.js'
import { singleClient } from '../redis/clients.js'
import { patientStore } from '../redis/patient.js'

const client = singleClient()

describe('the bytes that a decision allocates', () => {
  /** The bytes allocated by some work, whether or not they were collected since. */
  async function allocated(work: () => Promise<void> | void): Promise<number> {
    const session = new Session()
    session.connect()
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: 1_024,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    })
    await work()
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

  const keys = Array.from({ length: 1_000 }, (_, i) => `user-${i}`)
  const DECISIONS = 20_000
  /**
   * The bytes of one decision. Unoptimized code boxes its numbers, so the smallest result of some
   * rounds counts.
   */
  async function leastAllocated(decideAll: () => Promise<void> | void): Promise<number> {
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < 4; round += 1) {
      least = Math.min(least, (await allocated(decideAll)) / DECISIONS)
    }
    return least
  }

  /** Nothing is denied. */
  const policy = tokenBucket({ capacity: 10 ** 9, refill: 10 ** 9, every: '1d' })

  test('in memory', async () => {
    const limiter = new RateLimiter({ store: memoryStore(), policy })
    const decideAll = () => {
      for (let i = 0; i < DECISIONS; i += 1) void limiter.decide(keys[i % keys.length] as string)
    }
    expect(await leastAllocated(decideAll)).toBeLessThan(740)
  })

  test.each([
    ['distinct keys', keys, 2_500],
    ['one hot key', ['hot'], 1_560],
  ])('through Redis, 64 in flight, %s', async (_, some, most) => {
    const store = patientStore(client, {})
    onTestFinished(() => store.close())
    const limiter = new RateLimiter({ store, policy })
    const decideAll = async () => {
      let next = 0
      const worker = async () => {
        while (next < DECISIONS) {
          next += 1
          await limiter.consume(some[next % some.length] as string)
        }
      }
      await Promise.all(Array.from({ length: 64 }, worker))
    }
    expect(await leastAllocated(decideAll)).toBeLessThan(most)
  })
})
