// Many requests in flight on a Cluster, where only keys of one slot can travel together.

import { startCluster } from '@weir/testkit'
import { type Goal, noWorse } from '../goals.js'
import { clusterSubjects, HASH_TAGS } from '../redis/cluster-subjects.js'
import { INCR } from '../redis/floors.js'
import { IN_FLIGHT } from '../redis/load.js'
import { contenders, underLoad } from '../redis/processes.js'
import { RATE_LIMIT_REDIS } from '../redis/rate-limit-redis.js'
import { SMALLEST } from '../redis/smallest.js'
import { BUCKET, FIXED } from '../redis/weir.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Table } from '../table.js'

const MASTERS = 3

const metrics: readonly Metric[] = [
  { id: 'rate', title: 'decisions/s', digits: 0, better: 'more', base: INCR },
  { id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less', base: INCR },
  { id: 'redisUs', title: 'Redis CPU, us', digits: 2, better: 'less', base: INCR },
  { id: 'commands', title: 'commands', digits: 2, better: 'less' },
]

const table = 'cluster'
const of = [BUCKET, FIXED]
const cpu = { number: 9, table, metric: 'clientUs', what: 'client CPU of a decision', of }
const redisCpu = { number: 2, table, metric: 'redisUs', what: 'Redis CPU of a decision', of }
const beside = { peer: RATE_LIMIT_REDIS, floor: SMALLEST }
const goals: readonly Goal[] = [
  { ...cpu, ...beside, floor: INCR, per: INCR, atMost: 0.83 },
  { ...cpu, ...beside, per: RATE_LIMIT_REDIS, atMost: 0.64 },
  { ...redisCpu, ...beside, per: SMALLEST, atMost: 0.71 },
  noWorse({ ...cpu, floor: SMALLEST }),
  noWorse({ ...redisCpu, floor: SMALLEST }),
]

export const cluster: Scenario = {
  id: 'cluster',
  title: 'Distinct keys in a Cluster',
  about: `${IN_FLIGHT} requests in flight, on the same 100,000 keys as above, on a Redis Cluster of ${MASTERS} masters; Redis CPU is that of all of them, and commands are those of one decision. Without hashTags each key has a hash tag of its own, so that hardly any two decisions of a turn lie in one slot, and each travels alone; with ${HASH_TAGS}, all keys share ${HASH_TAGS} tags. The servers and the client have the same cores, so look at CPU and commands rather than at throughput.`,
  goals,
  measure,
}

async function measure(scale: Scale): Promise<readonly Table[]> {
  const cluster = await startCluster({ masters: MASTERS, replicas: 0 })
  try {
    const job = { list: 'cluster', exercise: 'distinct' } as const
    const rows = await underLoad(
      cluster.masters,
      job,
      contenders(clusterSubjects, of, scale),
      scale,
    )
    return [{ id: table, title: 'What a decision costs', metrics, rows }]
  } finally {
    await cluster.stop()
  }
}
