// One request at a time: what gathering requests costs those that come alone.

import type { RedisServer } from '@weir/testkit'
import { checkCount } from '../exactness.js'
import type { Goal } from '../goals.js'
import { calmly } from '../redis/calm.js'
import { INCR } from '../redis/floors.js'
import { costOf } from '../redis/load.js'
import { onOneCore } from '../redis/one-core.js'
import { flush, type Opened, onRedis } from '../redis/stage.js'
import { LIMIT } from '../redis/subject.js'
import { subjects } from '../redis/subjects.js'
import { WEIR } from '../redis/weir.js'
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
const goals: readonly Goal[] = [
  { number: 3, table, metric: 'p50', what: 'median latency', of: WEIR, per: INCR, atMost: 1.6 },
  {
    number: 3,
    table,
    metric: 'p50',
    what: 'median latency',
    of: WEIR,
    per: 'rate-limit-redis',
    atMost: 1.15,
  },
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
