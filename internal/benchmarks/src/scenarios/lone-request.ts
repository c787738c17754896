// One request at a time: what gathering requests costs those that come alone.

import type { Goal } from '../goals.js'
import { calmly } from '../redis/calm.js'
import { INCR } from '../redis/floors.js'
import { onOneCore } from '../redis/one-core.js'
import { type Opened, onRedis } from '../redis/stage.js'
import { subjects } from '../redis/subjects.js'
import { WEIR } from '../redis/weir.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import { quantile } from '../statistics.js'
import type { Metric, Samples, Table } from '../table.js'

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
]

const table = 'latency'
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

export const loneRequest: Scenario = {
  id: 'lone-request',
  title: 'One request at a time',
  about:
    'One request in flight, on one key; all allowed. Times are as the caller sees them. Client and Redis share a core: between two, one would mostly measure how long a sleeping core takes to wake.',
  goals,
  measure,
}

/** Short turns and many of them: what else the machine does changes from moment to moment. */
const SLICES = 8

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  return onRedis(subjects, (server, opened) => {
    const turns = (count: number): Promise<Samples[]> => {
      return inRounds(opened, count, (one) =>
        calmly(one.subject, () => turnOf(one, turnMs / SLICES)),
      )
    }
    return onOneCore([server.pid, process.pid], async () => {
      await turns(SLICES)
      const samples = await turns(rounds * SLICES)
      const rows = opened.map(({ name, kind }, i) => ({
        subject: name,
        kind,
        samples: samples[i] ?? {},
      }))
      return [{ id: table, title: 'Latency', metrics, rows }]
    })
  })
}

async function turnOf({ subject }: Opened, forMs: number): Promise<Turn> {
  const times: number[] = []
  const end = performance.now() + forMs
  for (let now = performance.now(); now < end; ) {
    await subject.ask('lone')
    const after = performance.now()
    times.push((after - now) * 1_000)
    now = after
  }
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}
