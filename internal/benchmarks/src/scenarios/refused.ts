// Requests for a key that is over its limit, which are answered without Redis.

import { strict as assert } from 'node:assert'
import {
  type Decision,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
  tokenBucket,
} from '@weir/core'
import { type RedisServer, startRedis } from '@weir/testkit'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { Goal } from '../goals.js'
import { calmly } from '../redis/calm.js'
import { connected } from '../redis/client.js'
import { type RedisSubject, UNIT_MS } from '../redis/subject.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Kind, Metric, Table } from '../table.js'

const LIMIT = 10
const KEY = 'attacker'
const DECIDE = 'Weir, decide'
const CONSUME = 'Weir, consume'
const MAP = 'Map get, and the time'
const FLEXIBLE = 'rate-limiter-flexible, inMemoryBlockOnConsumed'
/** A turn ends before Weir asks Redis again, which it does after a second. */
const MAX_TURN_MS = 500
const LOOK_EVERY = 256

const metrics: readonly Metric[] = [
  { id: 'cpuUs', title: 'CPU, us', digits: 3, better: 'less', base: FLEXIBLE },
  { id: 'rate', title: 'decisions/s', digits: 0, better: 'more', base: FLEXIBLE },
  { id: 'commands', title: 'Redis commands', digits: 0, better: 'less' },
]

const table = 'refused'
const goals: readonly Goal[] = [
  {
    ...{ table, metric: 'cpuUs', what: 'us of a refusal, through consume', of: [CONSUME] },
    ...{ peer: FLEXIBLE, floor: MAP, atMost: 0.31 },
  },
]

export const refused: Scenario = {
  id: 'refused',
  title: 'Refused, answered locally',
  about: `A key at its limit of ${LIMIT} asks on and on, one request after the other, and is refused from memory.`,
  goals,
  measure,
}

/** Weir's methods: `decide`, which answers synchronously, and `consume`. */
export const WEIR_REFUSERS: readonly string[] = [DECIDE, CONSUME]

export interface Refuser extends Pick<RedisSubject, 'disturbed'> {
  readonly name: string
  readonly kind: Kind
  /** Uses up the limit, and asks until it is refused from memory. */
  prime(): Promise<void>
  /** Asks until the end, and returns how often. */
  ask(end: number): number | Promise<number>
  close(): Promise<unknown>
}

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  const server = await startRedis()
  const refusers = await Promise.all([
    floor(),
    weirRefuser(server, DECIDE),
    weirRefuser(server, CONSUME),
    flexible(server),
  ])
  try {
    const turn = (refuser: Refuser): Promise<Turn> => {
      return calmly(refuser, () => refusedTurn(server, refuser, turnMs))
    }
    await inRounds(refusers, 1, turn)
    const samples = await inRounds(refusers, rounds, turn)
    const rows = refusers.map(({ name, kind }, i) => ({
      subject: name,
      kind,
      samples: samples[i] ?? {},
    }))
    return [{ id: table, title: 'What a refusal costs', metrics, rows }]
  } finally {
    await Promise.all(refusers.map((refuser) => refuser.close()))
    await server.stop()
  }
}

export async function refusedTurn(
  server: RedisServer,
  { prime, ask }: Refuser,
  turnMs: number,
): Promise<Turn> {
  await server.command('FLUSHDB')
  await prime()
  const commandsBefore = await commandsOf(server)
  const cpuBefore = process.cpuUsage()
  const started = performance.now()
  const decisions = await ask(started + Math.min(turnMs, MAX_TURN_MS))
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(cpuBefore)
  const commands = (await commandsOf(server)) - commandsBefore
  return { cpuUs: (user + system) / decisions, rate: (decisions / ms) * 1_000, commands }
}

/** The scripts that decided. Weir's heartbeat is an EVAL, and does not count. */
async function commandsOf(server: RedisServer): Promise<number> {
  const stats = String(await server.command('INFO', 'commandstats'))
  const [, calls = '0'] = /cmdstat_evalsha:calls=(\d+)/.exec(stats) ?? []
  return Number(calls)
}

/** The least cost of a refusal: looks up the time until which a key is refused. */
function floor(): Refuser {
  const untils = new Map([[KEY, Date.now() + 3_600_000]])
  return {
    name: MAP,
    kind: 'floor',
    prime: async () => {},
    ask(end) {
      for (let decisions = 1; ; decisions += 1) {
        if ((untils.get(KEY) ?? 0) <= Date.now()) throw new Error('the refused key was let in')
        if (decisions % LOOK_EVERY === 0 && performance.now() >= end) return decisions
      }
    },
    close: async () => {},
  }
}

export async function weirRefuser(server: RedisServer, name: string): Promise<Refuser> {
  const client = await connected(server.port, recommendedRedisOptions)
  const store = redisStore(client)
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
    kind: 'weir',
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
    async close() {
      await store.close()
      client.disconnect()
    },
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

async function flexible({ port }: RedisServer): Promise<Refuser> {
  const client = await connected(port, { enableOfflineQueue: false })
  const limiter = new RateLimiterRedis({
    ...{ storeClient: client, points: LIMIT, duration: 3_600 },
    ...{ inMemoryBlockOnConsumed: LIMIT + 1, inMemoryBlockDuration: 3_600 },
  })
  const refuses = async (): Promise<boolean> => {
    try {
      await limiter.consume(KEY)
      return false
    } catch (refusal) {
      if (refusal instanceof Error) throw refusal
      return true
    }
  }
  return {
    name: FLEXIBLE,
    kind: 'peer',
    async prime() {
      limiter.deleteInMemoryBlockedAll()
      for (let i = 0; i < LIMIT; i += 1) assert.equal(await refuses(), false)
      assert.equal(await refuses(), true)
    },
    async ask(end) {
      for (let decisions = 1; ; decisions += 1) {
        if (!(await refuses())) throw new Error('the refused key was let in')
        if (decisions % LOOK_EVERY === 0 && performance.now() >= end) return decisions
      }
    },
    close: async () => client.disconnect(),
  }
}
