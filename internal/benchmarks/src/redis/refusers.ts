// Requests for a key that is over its limit, which Weir refuses without Redis.

import { strict as assert } from 'node:assert'
import {
  type Decision,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
  tokenBucket,
} from '@weir/core'
import type { RedisServer } from '@weir/testkit'
import type { Turn } from '../rounds.js'
import { connected } from './client.js'
import { type RedisSubject, UNIT_MS } from './subject.js'

const LIMIT = 10
const KEY = 'attacker'
const DECIDE = 'Weir, decide'
const CONSUME = 'Weir, consume'
/** A turn ends before Weir asks Redis again, which it does after a second. */
const MAX_TURN_MS = 500
const LOOK_EVERY = 256

/** Weir's methods: `decide`, which answers synchronously, and `consume`. */
export const WEIR_REFUSERS: readonly string[] = [DECIDE, CONSUME]

export interface Refuser extends Pick<RedisSubject, 'disturbed'> {
  readonly name: string
  /** Uses up the limit, and asks until it is refused from memory. */
  prime(): Promise<void>
  /** Asks until the end, and returns how often. */
  ask(end: number): number | Promise<number>
}

export async function refusedTurn(
  server: RedisServer,
  { prime, ask }: Refuser,
  turnMs: number,
): Promise<Turn> {
  await server.command('FLUSHDB')
  await prime()
  const before = process.cpuUsage()
  const decisions = await ask(performance.now() + Math.min(turnMs, MAX_TURN_MS))
  const { user, system } = process.cpuUsage(before)
  return { cpuUs: (user + system) / decisions }
}

export async function weirRefuser(server: RedisServer, name: string): Promise<Refuser> {
  const store = redisStore(await connected(server.port, recommendedRedisOptions))
  const limiter = new RateLimiter({
    name: name === DECIDE ? 'decide' : 'consume',
    store,
    policy: tokenBucket({ capacity: LIMIT, refill: 1, every: UNIT_MS }),
  })
  let disturbed = false
  store.on('fallback', () => {
    disturbed = true
  })
  return {
    name,
    disturbed() {
      const was = disturbed
      disturbed = false
      return was
    },
    async prime() {
      // The key was deleted from Redis on purpose.
      await limiter.reset(KEY)
      for (let i = 0; i < LIMIT; i += 1) assert.equal((await limiter.consume(KEY)).allowed, true)
      assert.equal((await limiter.consume(KEY)).source, 'store')
      const { allowed, source } = await limiter.consume(KEY)
      assert.equal(allowed, false)
      // 'cache'; in an earlier Weir, 'local'.
      assert.notEqual(source, 'store')
    },
    ask: name === DECIDE ? decideUntil : consumeUntil,
  }

  function decideUntil(end: number): number {
    for (let decisions = 1; ; decisions += 1) {
      if ((limiter.decide(KEY) as Decision).allowed !== false)
        throw new Error('the refused key was let in')
      if (decisions % LOOK_EVERY === 0 && performance.now() >= end) return decisions
    }
  }

  async function consumeUntil(end: number): Promise<number> {
    for (let decisions = 1; ; decisions += 1) {
      if ((await limiter.consume(KEY)).allowed) throw new Error('the refused key was let in')
      if (decisions % LOOK_EVERY === 0 && performance.now() >= end) return decisions
    }
  }
}
