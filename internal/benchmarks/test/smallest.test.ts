// The smallest script is a floor only if it gives the same answers as Weir.

import { type Decision, memoryStore, RateLimiter, tokenBucket } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { startRedis } from '@weir/testkit'
import { expect, test } from 'vitest'
import { type Answer, smallest, smallestBatched } from '../src/redis/smallest.js'
import { LIMIT as LARGE, type RedisSubjectKind, UNIT_MS } from '../src/redis/subject.js'
import { BUCKET, weir } from '../src/redis/weir.js'

const LIMIT = 40

test.each([smallest, smallestBatched])('$name gives the same answers as Weir', async (kind) => {
  const server = await startRedis()
  try {
    for (const perTurn of [1, 3, 16, 64]) await sayTheSame(kind, server.port, perTurn)
  } finally {
    await server.stop()
  }
})

test("the smallest script's keys are as long as those of Weir's bucket", async () => {
  const server = await startRedis()
  const lengthOf = async (kind: RedisSubjectKind): Promise<number | undefined> => {
    await server.command('FLUSHDB')
    const subject = await kind.open(server.port, LARGE)
    await subject.ask('r5-1-00000012')
    const keys = (await server.command('KEYS', '*r5-1-00000012*')) as readonly string[]
    await subject.close()
    expect(keys).toHaveLength(1)
    return keys[0]?.length
  }
  try {
    const bucket = weir.find(({ name }) => name === BUCKET) as RedisSubjectKind
    const length = await lengthOf(bucket)
    expect(await lengthOf(smallest)).toBe(length)
    expect(await lengthOf(smallestBatched)).toBe(length)
  } finally {
    await server.stop()
  }
})

/** Requests keys more and less often than a turn has requests, past their limit. */
async function sayTheSame(kind: RedisSubjectKind, port: number, perTurn: number): Promise<void> {
  const clock = fakeClock()
  const policy = tokenBucket({ capacity: LIMIT, refill: 1, every: UNIT_MS })
  const weir = new RateLimiter({ store: memoryStore({ clock }), policy })
  const subject = await kind.open(port, LIMIT)
  try {
    let step = 0
    for (let turn = 0; turn < Math.ceil(200 / perTurn); turn += 1) {
      const keys = Array.from({ length: perTurn }, () => {
        step += 1
        return `${perTurn}-${step % 2 === 0 ? 'hot' : `key${step % 41}`}`
      })
      const answers = (await Promise.all(keys.map(subject.ask))) as readonly Answer[]
      for (const [i, key] of keys.entries()) {
        const answer = answers[i] as Answer
        clock.set(answer[0] / 1_000)
        expect(answer).toEqual(answerOf(weir.decide(key) as Decision, answer[0]))
      }
    }
  } finally {
    await subject.close()
  }
}

function answerOf(decision: Decision, nowUs: number): unknown[] {
  const { allowed, remaining, policies } = decision
  const [result] = policies
  return [
    nowUs,
    allowed ? 1 : 0,
    remaining,
    result?.retryAfterMs,
    expect.toSatisfy((us: number) => Math.ceil(us / 1_000) === decision.resetAfterMs),
  ]
}
