// One request at a time: what gathering requests costs those that come alone.

import type { RedisServer } from '@weir/testkit'
import { checkCount } from '../exactness.js'
import { type Goal, noWorse } from '../goals.js'
import { calmly } from '../redis/calm.js'
import { INCR } from '../redis/floors.js'
import { costOf } from '../redis/load.js'
import { onOneCore } from '../redis/one-core.js'
import { RATE_LIMIT_REDIS } from '../redis/rate-limit-redis.js'
import { SMALLEST } from '../redis/smallest.js'
import { flush, type Opened, onRedis } from '../redis/stage.js'
import { LIMIT } from '../redis/subject.js'
import { subjects } from '../redis/subjects.js'
import { BUCKET, COUNTER, FIXED, LOG, SLIDING, WEIR } from '../redis/weir.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import { quantile } from '../statistics.js'
import type { Metric, Samples, Table } from '../table.js'
import { past } from '../versions/past.js'

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

const table = 'alone'
const p50 = { number: 10, table, metric: 'p50', what: 'median latency' }
const cpu = { number: 10, table, metric: 'clientUs', what: 'client CPU of a decision' }
const redisCpu = { number: 2, table, metric: 'redisUs', what: 'Redis CPU of a decision' }
const beside = { peer: RATE_LIMIT_REDIS, floor: SMALLEST }
/** What others take for a decision, and what does more for it in Redis. */
const groups = [
  [BUCKET, FIXED],
  [COUNTER, SLIDING, LOG],
]
const goals: readonly Goal[] = [
  ...groups.flatMap((of): readonly Goal[] => [
    { ...p50, ...beside, of, per: RATE_LIMIT_REDIS, atMost: 1.15, pass: 1.25 },
    { ...p50, ...beside, of, floor: INCR, per: INCR, atMost: 1.4, pass: 1.5 },
    { ...cpu, ...beside, of, per: RATE_LIMIT_REDIS, atMost: 1.25, pass: 1.35 },
  ]),
  { ...redisCpu, ...beside, of: [BUCKET, FIXED], per: SMALLEST, atMost: 1.2 },
  noWorse({ ...p50, of: WEIR, floor: SMALLEST }),
  noWorse({ ...cpu, of: WEIR, floor: SMALLEST }),
]

export const alone: Scenario = {
  id: 'alone',
  title: 'One request at a time',
  about:
    'One request in flight, on one key; all allowed. Times are as the caller sees them. Client and Redis share a core: between two, one would mostly measure how long a sleeping core takes to wake.',
  goals,
  measure,
}

/** Short turns and many of them: what else the machine does changes from moment to moment. */
const SLICES = 8

async function measure(scale: Scale): Promise<readonly Table[]> {
  const { rounds, turnMs } = scale
  return onRedis([...subjects, ...(await past(scale))], (server, opened) => {
    // Another key in each turn, as under load.
    const turns = (name: string, count: number): Promise<Samples[]> => {
      return inRounds(opened, count, (one, round) =>
        calmly(one.subject, (attempt) =>
          turnOf(server, one, `${name}${round}-${attempt}`, turnMs / SLICES),
        ),
      )
    }
    return onOneCore([server.pid, process.pid], async () => {
      await turns('w', SLICES)
      const samples = await turns('r', rounds * SLICES)
      const rows = opened.map(({ name, kind }, i) => ({
        subject: name,
        kind,
        samples: samples[i] ?? {},
      }))
      return [{ id: table, title: 'What a decision costs', metrics, rows }]
    })
  })
}

async function turnOf(
  server: RedisServer,
  { name, subject, keyless }: Opened,
  key: string,
  forMs: number,
): Promise<Turn> {
  await flush([server])
  const times: number[] = []
  const { decisions, clientUs, redisUs } = await costOf([server], async () => {
    const end = performance.now() + forMs
    for (let now = performance.now(); now < end; ) {
      await subject.ask(key)
      const after = performance.now()
      times.push((after - now) * 1_000)
      now = after
    }
    return times.length
  })
  if (!keyless) await checkCount(name, subject, key, decisions, LIMIT)
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), clientUs, redisUs }
}
