// Calls of a limiter act in the order in which they were made, without waiting for each other: each
// pair of methods, in memory and on Redis, compared with the same calls one after the other.

import { redisStore } from '@weir/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientOf, KINDS, LIBRARIES, type Limiter, makerOf, outcomeOf } from './flexible.js'
import { onRedis } from './on-redis.js'

const POINTS = 3

const CALLS: Readonly<Record<string, (limiter: Limiter) => Promise<unknown>>> = {
  consume: (limiter) => limiter.consume('k'),
  penalty: (limiter) => limiter.penalty('k', 2),
  reward: (limiter) => limiter.reward('k', 2),
  set: (limiter) => limiter.set('k', 2, 600),
  block: (limiter) => limiter.block('k', 300),
  delete: (limiter) => limiter.delete('k'),
}
const NAMES = Object.keys(CALLS)
/** These report how many points are taken. */
const REPORTS = ['consume', 'penalty', 'reward']

/**
 * The first outcome of two calls and a `get` that is the same in one turn. Points past the limit,
 * and refusals, are counted by a second call of the store, when it has answered: so what the same
 * turn reports may have more or less of them, and a refusal begins no block if the key has started
 * afresh, or a penalty has passed the threshold.
 */
function comparedFrom(
  first: string,
  second: string,
  { taken, blockDuration }: { readonly taken: number; readonly blockDuration: number },
): number {
  if (first === 'penalty' && taken > 0) return 1
  if (first !== 'consume' || taken < POINTS) return 0
  if (second === 'penalty' && blockDuration > 0) return 3
  return REPORTS.includes(second) ? 2 : 1
}

const redis = clientOf(onRedis())
let store: ReturnType<typeof redisStore>
beforeAll(() => {
  // The machine may be busy, and this is not about time.
  store = redisStore(redis.client, { deadlineMs: 60_000, whenUnavailable: 'throw', instances: 1 })
})
afterAll(() => store.close())

/** The machine may be busy: times are as near as the three durations are apart. */
function coarse(outcomes: readonly unknown[]): readonly unknown[] {
  const text = JSON.stringify(outcomes, (name, value) => {
    return name === 's' ? 300 * Math.round(value / 300) : value
  })
  return JSON.parse(text)
}

describe.each(KINDS)('in %s', (kind) => {
  describe.each([0, 1, POINTS - 1, POINTS])('when %i points are taken', (taken) => {
    describe.each([0, 900])('with a blockDuration of %i', (blockDuration) => {
      async function told(first: string, second: string, isInOneTurn: boolean) {
        const make = makerOf(LIBRARIES.here, kind, store)
        const limiter = make({ points: POINTS, duration: 600, blockDuration })
        if (taken > 0) await limiter.consume('k', taken)
        const calls = [first, second].map((name) => CALLS[name] as (typeof CALLS)[string])
        const outcomes: unknown[] = []
        if (isInOneTurn)
          outcomes.push(...(await Promise.all(calls.map((call) => outcomeOf(call(limiter))))))
        else for (const call of calls) outcomes.push(await outcomeOf(call(limiter)))
        return coarse([...outcomes, await outcomeOf(limiter.get('k'))])
      }

      test.each(NAMES)('%s, and any call after it, act as one after the other', async (first) => {
        for (const second of NAMES) {
          const from = comparedFrom(first, second, { taken, blockDuration })
          const inTurn = (await told(first, second, true)).slice(from)
          const oneByOne = (await told(first, second, false)).slice(from)
          expect(inTurn, `${first}, then ${second}`).toEqual(oneByOne)
        }
      })
    })
  })
})
