// Many requests in flight: on keys that are mostly new, and all on one key.

import type { RedisServer } from '@weir/testkit'
import { checkCount } from '../exactness.js'
import { BEST_PEER, type Goal } from '../goals.js'
import { calmly } from '../redis/calm.js'
import { INCR } from '../redis/floors.js'
import { randomOrder } from '../redis/keys.js'
import { costOf, keepAsking } from '../redis/load.js'
import { type Opened, onRedis } from '../redis/stage.js'
import { LIMIT, type RedisSubjectKind } from '../redis/subject.js'
import { subjects } from '../redis/subjects.js'
import { BUCKET, FIXED, WEIR } from '../redis/weir.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Table } from '../table.js'

const IN_FLIGHT = 64
/** V8 optimizes for some hundred thousand decisions. */
const WARM_ROUNDS = 3

const DISTINCT: readonly Metric[] = [
  {
    ...{ id: 'rate', title: 'decisions/s', digits: 0, better: 'more', base: INCR },
    expected: {
      'rate-limit-redis': 0.81,
      'rate-limiter-flexible': 0.59,
      '@fastify/rate-limit': 0.61,
      '@nest-lab/throttler-storage-redis': 0.7,
      'koa-ratelimit': 0.6,
      '@upstash/ratelimit fixed window': 0.57,
    },
  },
  {
    ...{ id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less', base: INCR },
    expected: {
      'rate-limit-redis': 1.22,
      'rate-limiter-flexible': 1.88,
      '@fastify/rate-limit': 1.69,
      '@nest-lab/throttler-storage-redis': 1.42,
      'koa-ratelimit': 1.55,
      '@upstash/ratelimit fixed window': 1.75,
    },
  },
  {
    ...{ id: 'redisUs', title: 'Redis CPU, us', digits: 2, better: 'less', base: INCR },
    expected: {
      'rate-limit-redis': 1.58,
      'rate-limiter-flexible': 2.08,
      '@fastify/rate-limit': 1.89,
      '@nest-lab/throttler-storage-redis': 2.25,
      'koa-ratelimit': 2.39,
      '@upstash/ratelimit fixed window': 2.11,
    },
  },
]

const HOT: readonly Metric[] = [
  {
    ...{ id: 'rate', title: 'decisions/s', digits: 0, better: 'more', base: INCR },
    expected: {
      'rate-limit-redis': 0.88,
      'rate-limiter-flexible': 0.54,
      '@fastify/rate-limit': 0.59,
      '@nest-lab/throttler-storage-redis': 0.58,
      'koa-ratelimit': 0.42,
      '@upstash/ratelimit fixed window': 0.5,
      '@upstash/ratelimit sliding window': 0.52,
      '@upstash/ratelimit token bucket': 0.47,
    },
  },
  {
    ...{ id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less', base: INCR },
    expected: {
      'rate-limit-redis': 1.3,
      'rate-limiter-flexible': 2.06,
      '@fastify/rate-limit': 1.64,
      '@nest-lab/throttler-storage-redis': 1.54,
      'koa-ratelimit': 1.84,
      '@upstash/ratelimit fixed window': 2.2,
      '@upstash/ratelimit sliding window': 2.1,
      '@upstash/ratelimit token bucket': 1.9,
    },
  },
  {
    ...{ id: 'redisUs', title: 'Redis CPU, us', digits: 2, better: 'less', base: INCR },
    expected: {
      'rate-limit-redis': 1.3,
      'rate-limiter-flexible': 1.86,
      '@fastify/rate-limit': 1.64,
      '@nest-lab/throttler-storage-redis': 1.96,
      'koa-ratelimit': 2.87,
      '@upstash/ratelimit fixed window': 1.8,
      '@upstash/ratelimit sliding window': 2.1,
      '@upstash/ratelimit token bucket': 2.3,
    },
  },
]

const table = 'load'
const distinctGoals: readonly Goal[] = [
  {
    ...{ table, metric: 'clientUs', what: 'client CPU of a decision', of: WEIR },
    ...{ per: INCR, atMost: 0.45, aim: 0.35 },
  },
  { table, metric: 'clientUs', what: 'client CPU of a decision', of: WEIR, per: BEST_PEER, atMost: 0.4 },
  { table, metric: 'redisUs', what: 'Redis CPU of a decision', of: [BUCKET], per: INCR, atMost: 1.1 },
  { table, metric: 'redisUs', what: 'Redis CPU of a decision', of: [FIXED], per: INCR, atMost: 0.9 },
  {
    ...{ table, metric: 'redisUs', what: 'Redis CPU of a decision', of: [BUCKET, FIXED] },
    ...{ per: BEST_PEER, atMost: 0.8 },
  },
  { table, metric: 'rate', what: 'throughput', of: WEIR, per: INCR, atLeast: 1.1 },
  { table, metric: 'rate', what: 'throughput', of: WEIR, per: BEST_PEER, atLeast: 1.4 },
]

const hotGoals: readonly Goal[] = [
  {
    ...{ table, metric: 'clientUs', what: 'client CPU of a decision', of: WEIR },
    ...{ per: INCR, atMost: 0.25, aim: 0.15 },
  },
  { table, metric: 'clientUs', what: 'client CPU of a decision', of: WEIR, per: BEST_PEER, atMost: 0.2 },
  { table, metric: 'redisUs', what: 'Redis CPU of a decision', of: WEIR, per: INCR, atMost: 0.1 },
  { table, metric: 'rate', what: 'throughput', of: WEIR, per: INCR, atLeast: 4, aim: 7 },
  { table, metric: 'rate', what: 'throughput', of: WEIR, per: BEST_PEER, atLeast: 5, aim: 8 },
]

export const distinctKeys: Scenario = {
  id: 'distinct-keys',
  title: 'Distinct keys in Redis',
  about: `${IN_FLIGHT} requests in flight from one process and connection, on 100,000 keys in random order, most of them asked about for the first time; all allowed. Each turn begins with an empty Redis.`,
  goals: distinctGoals,
  measure: (scale) =>
    measure(
      scale,
      subjects.filter(({ keyless }) => !keyless),
      DISTINCT,
      distinctNames(scale.keys),
    ),
}

export const hotKey: Scenario = {
  id: 'hot-key',
  title: 'One hot key in Redis',
  about: `${IN_FLIGHT} requests in flight from one process and connection, all on one key; all allowed. Each turn begins with an empty Redis. bottleneck needs three round trips for a job.`,
  goals: hotGoals,
  measure: (scale) =>
    measure(scale, subjects, HOT, (name) => ({ names: [`${name}-hot`], order: new Uint32Array(1) })),
}

interface Keys {
  readonly names: readonly string[]
  /** Places of names, in the order of asking; begun anew at its end. */
  readonly order: Uint32Array
}

/** All subjects of a round ask for the same keys. */
function distinctNames(count: number): (name: string) => Keys {
  const order = randomOrder(count)
  let latest = ''
  let names: readonly string[] = []
  return (name) => {
    if (name !== latest)
      names = Array.from({ length: count }, (_, i) => `${name}-${String(i).padStart(8, '0')}`)
    latest = name
    return { names, order }
  }
}

async function measure(
  { rounds, turnMs }: Scale,
  kinds: readonly RedisSubjectKind[],
  metrics: readonly Metric[],
  keysOf: (name: string) => Keys,
): Promise<readonly Table[]> {
  return onRedis(kinds, async (server, opened) => {
    await inRounds(opened, Math.min(rounds, WARM_ROUNDS), (one, round) => {
      return calmly(one.subject, (attempt) => turnOf(server, one, keysOf(`w${round}-${attempt}`), turnMs))
    })
    // Other keys in each turn: to a limiter that remembers what it saw, a key that begins anew has been lost.
    const samples = await inRounds(opened, rounds, (one, round) => {
      return calmly(one.subject, (attempt) => turnOf(server, one, keysOf(`r${round}-${attempt}`), turnMs))
    })
    const rows = opened.map(({ name, kind }, i) => ({ subject: name, kind, samples: samples[i] ?? {} }))
    return [{ id: table, title: 'What a decision costs', metrics, rows }]
  })
}

async function turnOf(
  server: RedisServer,
  { name, subject, keyless }: Opened,
  { names, order }: Keys,
  forMs: number,
): Promise<Turn> {
  await server.command('FLUSHDB')
  const first = names[order[0] as number] as string
  let step = 0
  const nextKey = (): string => {
    const key = names[order[step % order.length] as number] as string
    step += 1
    return key
  }
  const cost = await costOf(server, () => keepAsking(subject.ask, nextKey, IN_FLIGHT, forMs))
  let ofFirst = 0
  for (let i = 0; i < cost.decisions; i += 1) if (order[i % order.length] === order[0]) ofFirst += 1
  // Units of one that does not tell keys apart go on falling from turn to turn.
  if (!keyless) await checkCount(name, subject, first, ofFirst, LIMIT)
  const { rate, clientUs, redisUs } = cost
  return { rate, clientUs, redisUs }
}
