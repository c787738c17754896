// Many requests in flight on a Cluster, where only keys of the same slot can travel together.

import { startCluster } from '@weir/testkit'
import type { Goal } from '../goals.js'
import { clusterSubjects, HASH_TAGS } from '../redis/cluster-subjects.js'
import { INCR } from '../redis/floors.js'
import { IN_FLIGHT } from '../redis/load.js'
import { type Contender, contenders, underLoad } from '../redis/processes.js'
import { RATE_LIMIT_REDIS } from '../redis/rate-limit-redis.js'
import { SMALLEST } from '../redis/smallest.js'
import { BUCKET, FIXED } from '../redis/weir.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Row, Table } from '../table.js'

const MASTERS = 3

const metrics: readonly Metric[] = [
  { id: 'rate', title: 'decisions/s', digits: 0, better: 'more', base: INCR },
  { id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less', base: INCR },
  { id: 'redisUs', title: 'Redis CPU, us', digits: 2, better: 'less', base: INCR },
  { id: 'commands', title: 'commands', digits: 2, better: 'less' },
]

const table = 'cluster'
/** The subjects of goals, which `versions` also compares. */
export const COMPARED: readonly string[] = [BUCKET, FIXED]
const goals: readonly Goal[] = [
  {
    ...{ table, metric: 'clientUs', what: 'client CPU of a decision', of: COMPARED },
    ...{ per: RATE_LIMIT_REDIS, peer: RATE_LIMIT_REDIS, floor: SMALLEST, atMost: 0.64 },
  },
]

export const cluster: Scenario = {
  id: 'cluster',
  title: 'Distinct keys in a Cluster',
  about: `${IN_FLIGHT} requests in flight, on the same 100,000 keys as above, on a Redis Cluster of ${MASTERS} masters; Redis CPU is that of all of them, and commands are those of one decision. Without hashTags each key has a hash tag of its own, so that hardly any two decisions of a turn lie in one slot, and each travels alone; with ${HASH_TAGS}, all keys share ${HASH_TAGS} tags. The servers and the client have the same cores, so look at CPU and commands rather than at throughput.`,
  goals,
  measure,
}

async function measure(scale: Scale): Promise<readonly Table[]> {
  const rows = await onCluster(contenders(clusterSubjects), scale)
  return [{ id: table, title: 'What a decision costs', metrics, rows }]
}

/** What a decision on distinct keys of a Cluster costs, for each subject, turn by turn. */
export async function onCluster(all: readonly Contender[], scale: Scale): Promise<readonly Row[]> {
  const cluster = await startCluster({ masters: MASTERS, replicas: 0 })
  try {
    return await underLoad(cluster.masters, { list: 'cluster', exercise: 'distinct' }, all, scale)
  } finally {
    await cluster.stop()
  }
}
