// Many requests in flight: for keys that are mostly new, and all for one key.

import { BEST_PEER, type Goal } from '../goals.js'
import { INCR } from '../redis/floors.js'
import { checkLeases, leased } from '../redis/leases.js'
import { IN_FLIGHT } from '../redis/load.js'
import { type Contender, contenders, underLoad } from '../redis/processes.js'
import { SMALLEST_BATCHED } from '../redis/smallest.js'
import { onRedis } from '../redis/stage.js'
import type { SubjectJob } from '../redis/subject-main.js'
import { subjects } from '../redis/subjects.js'
import { BUCKET, FIXED, SLIDING, WEIR } from '../redis/weir.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Table } from '../table.js'

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
const best = { table, per: BEST_PEER, peer: BEST_PEER, floor: SMALLEST_BATCHED }
const cpu = 'client CPU of a decision'
const distinctGoals: readonly Goal[] = [
  { ...best, metric: 'clientUs', what: cpu, of: WEIR, atMost: 0.39 },
  {
    ...best,
    metric: 'redisUs',
    what: 'Redis CPU of a decision',
    of: [BUCKET, FIXED],
    atMost: 0.58,
  },
]
const hotGoals: readonly Goal[] = [
  { ...best, metric: 'rate', what: 'throughput', of: WEIR, atLeast: 5 },
]

export const distinctKeysLoad: Scenario = {
  id: 'distinct-keys',
  title: 'Distinct keys in Redis',
  about: `${IN_FLIGHT} requests in flight from one process and connection, on 100,000 keys in random order, most of them asked about for the first time; all allowed. Each turn begins with an empty Redis.`,
  goals: distinctGoals,
  measure: (scale) => {
    const kinds = subjects.filter(({ keyless }) => !keyless)
    return measure(scale, contenders(kinds), DISTINCT, 'distinct')
  },
}

export const hotKeyLoad: Scenario = {
  id: 'hot-key',
  title: 'One hot key in Redis',
  about: `${IN_FLIGHT} requests in flight from one process and connection, all on one key; all allowed. Each turn begins with an empty Redis. bottleneck needs three round trips for a job.`,
  goals: hotGoals,
  measure: (scale) => measure(scale, contenders(subjects), HOT, 'hot'),
}

export const leasesLoad: Scenario = {
  id: 'leases',
  title: 'One hot key in Redis, with leases',
  about: `${IN_FLIGHT} requests in flight from one process and connection, all on one key of one Redis. Leases (100 units for 50 ms) are not a default, so they have no goal. Before measuring, two processes that ask well past a limit of 5,000 have to get no more than that, and at least all but 100 each.`,
  goals: [],
  measure: async (scale) => {
    await checkLeases()
    const kinds = [...subjects.filter(({ name }) => COMPARED.has(name)), ...leased]
    return measure(scale, contenders(kinds), HOT, 'hot')
  },
}

const COMPARED: ReadonlySet<string> = new Set([INCR, FIXED, SLIDING])

function measure(
  scale: Scale,
  all: readonly Contender[],
  metrics: readonly Metric[],
  exercise: SubjectJob['exercise'],
): Promise<readonly Table[]> {
  return onRedis([], async (server) => {
    const rows = await underLoad([server], { list: 'single', exercise }, all, scale)
    return [{ id: table, title: 'What a decision costs', metrics, rows }]
  })
}
