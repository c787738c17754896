// A process in which many requests wait for their turns. It reports how late each one passed.

import { strict as assert } from 'node:assert'
import {
  type Decision,
  leakyBucket,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
} from '@weir/core'
import type { Redis } from 'ioredis'
import { connected } from '../redis/client.js'
import type { WaitJob, WaitReport, WaitTurn } from './job.js'

const { redisPort } = JSON.parse(process.argv[2] as string) as WaitJob
const client = await connected(redisPort, recommendedRedisOptions)
const store = redisStore(client, { deadlineMs: 5_000, whenUnavailable: 'throw' })

process.on('message', async (turn: WaitTurn) => {
  const lateMs = await (turn.by === 'Weir' ? byWeir(turn) : byTimers(turn))
  process.send?.({ lateMs } satisfies WaitReport)
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

async function byWeir({ key, waiters, perSecond }: WaitTurn): Promise<number[]> {
  const policy = leakyBucket({ capacity: 1, leak: perSecond, every: '1s', maxWait: '60s' })
  const limiter = new RateLimiter({ name: 'waiting', store, policy, shared: true })
  const ahead = await aheadMs(client)
  return Promise.all(
    Array.from({ length: waiters }, async () => {
      const decision = await limiter.wait(key)
      const atMs = performance.now() + ahead
      assert.ok(decision.allowed, 'a wait without a timeout ends with a turn')
      return atMs - turnMs(decision, 1_000 / perSecond)
    }),
  )
}

function byTimers({ waiters, perSecond, process: own, processes }: WaitTurn): Promise<number[]> {
  const begun = performance.now()
  return Promise.all(
    Array.from({ length: waiters }, async (_, i) => {
      const afterMs = ((i * processes + own) * 1_000) / perSecond
      await new Promise((resolve) => setTimeout(resolve, afterMs))
      return performance.now() - begun - afterMs
    }),
  )
}

/** The least by which Redis's clock is ahead of this process's, so that nobody seems later than it
 *  was. */
async function aheadMs(redis: Redis): Promise<number> {
  let least = Number.NEGATIVE_INFINITY
  for (let i = 0; i < 50; i += 1) {
    const [seconds, us] = await redis.time()
    least = Math.max(least, Number(seconds) * 1_000 + Number(us) / 1_000 - performance.now())
  }
  return least
}

/** The time of a turn on Redis's clock: what the turn leaves in the bucket is gone a span later. */
function turnMs(decision: Decision, spanMs: number): number {
  const { receipt } = decision as { receipt?: { result: { untilUs: readonly number[] } } }
  return (receipt?.result.untilUs[0] as number) / 1_000 - spanMs
}
