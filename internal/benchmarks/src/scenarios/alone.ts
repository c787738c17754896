// One request at a time: what gathering requests costs those that come alone.

import { type Goal, noWorse } from '../goals.js'
import { INCR } from '../redis/floors.js'
import { contenders, inProcesses } from '../redis/processes.js'
import { RATE_LIMIT_REDIS } from '../redis/rate-limit-redis.js'
import { SMALLEST } from '../redis/smallest.js'
import { onRedis } from '../redis/stage.js'
import { subjects } from '../redis/subjects.js'
import { BUCKET, COUNTER, FIXED, LOG, SLIDING, WEIR } from '../redis/weir.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Table } from '../table.js'

const metrics: readonly Metric[] = [
  {
    ...{ id: 'p50', title: 'p50, us', digits: 1, better: 'less', base: INCR },
    expected: {
      'rate-limit-redis': 1.42,
      'rate-limiter-flexible': 1.58,
      '@upstash/ratelimit fixed window': 1.58,
    },
  },
  { id: 'p99', title: 'p99, us', digits: 1, better: 'less', base: INCR },
  { id: 'clientUs', title: 'client CPU, us', digits: 1, better: 'less', base: INCR },
  { id: 'redisUs', title: 'Redis CPU, us', digits: 1, better: 'less', base: INCR },
]

const ON_ONE = 'alone'
const APART = 'alone-apart'
const beside = { peer: RATE_LIMIT_REDIS, floor: SMALLEST }
/** What others take for a decision, and what does more for it in Redis. */
const groups = [
  [BUCKET, FIXED],
  [COUNTER, SLIDING, LOG],
]

function goalsOf(table: string, where: string, cpuAtMost: number): readonly Goal[] {
  const p50 = { number: 10, table, metric: 'p50', what: `median latency, ${where}` }
  const cpu = { number: 10, table, metric: 'clientUs', what: `client CPU of a decision, ${where}` }
  return [
    ...groups.flatMap((of): readonly Goal[] => [
      { ...p50, ...beside, of, per: RATE_LIMIT_REDIS, atMost: 1.15, pass: 1.25 },
      { ...p50, ...beside, of, floor: INCR, per: INCR, atMost: 1.4, pass: 1.5 },
      { ...cpu, ...beside, of, per: RATE_LIMIT_REDIS, atMost: cpuAtMost, pass: 1.35 },
    ]),
    noWorse({ ...p50, of: WEIR, floor: SMALLEST }),
    noWorse({ ...cpu, of: WEIR, floor: SMALLEST }),
  ]
}

const redisCpu = { number: 2, table: ON_ONE, metric: 'redisUs', what: 'Redis CPU of a decision' }
const goals: readonly Goal[] = [
  ...goalsOf(APART, 'a core each', 1.23),
  ...goalsOf(ON_ONE, 'on one core', 1.25),
  { ...redisCpu, ...beside, of: [BUCKET, FIXED], per: SMALLEST, atMost: 1.2 },
]

export const alone: Scenario = {
  id: 'alone',
  title: 'One request at a time',
  about:
    'One request in flight, on one key; all allowed. Times are as the caller sees them. Each subject has a process of its own. With a core each, most of a request is what it takes to wake the other core; on one core nothing but work is left.',
  goals,
  measure,
}

/** Short turns and many of them: what else the machine does changes from moment to moment. */
const SLICES = 8
/** Whole turns before them: V8 is still compiling in the first tens of thousands of requests. */
const WARM_TURNS = 8

async function measure(scale: Scale): Promise<readonly Table[]> {
  const judged = subjects.filter(({ name }) => JUDGED.has(name))
  return [
    await tableOf(APART, 'A core for the client and one for Redis', [0, 1], judged, scale),
    await tableOf(ON_ONE, 'Both on one core', [0, 0], subjects, scale),
  ]
}

/** Whom goals name: the others are measured only on one core. */
const JUDGED: ReadonlySet<string> = new Set([INCR, SMALLEST, ...WEIR, RATE_LIMIT_REDIS])

function tableOf(
  id: string,
  title: string,
  cores: readonly [number, number],
  kinds: typeof subjects,
  scale: Scale,
): Promise<Table> {
  const { rounds, turnMs, keys } = scale
  return onRedis([], async (server) => {
    const all = contenders(kinds, WEIR, scale)
    const job = { list: 'single', exercise: 'alone', keys } as const
    const rows = await inProcesses([server], job, all, cores, async (takeTurns) => {
      await takeTurns(WARM_TURNS, turnMs)
      return takeTurns(rounds * SLICES, turnMs / SLICES)
    })
    return { id, title, metrics, rows }
  })
}
