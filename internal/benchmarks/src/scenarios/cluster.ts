// Many requests in flight on a Cluster, where only keys of one slot can travel together.

import { clusterSubjects, HASH_TAGS } from '../redis/cluster-subjects.js'
import { INCR } from '../redis/floors.js'
import { distinctKeys, IN_FLIGHT, underLoad } from '../redis/load.js'
import { onCluster } from '../redis/stage.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Table } from '../table.js'
import { pastOnCluster } from '../versions/past.js'

const MASTERS = 3

const metrics: readonly Metric[] = [
  { id: 'rate', title: 'decisions/s', digits: 0, better: 'more', base: INCR },
  { id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less', base: INCR },
  { id: 'redisUs', title: 'Redis CPU, us', digits: 2, better: 'less', base: INCR },
  { id: 'commands', title: 'commands', digits: 2, better: 'less' },
]

export const cluster: Scenario = {
  id: 'cluster',
  title: 'Distinct keys in a Cluster',
  about: `${IN_FLIGHT} requests in flight, on the same 100,000 keys as above, on a Redis Cluster of ${MASTERS} masters; Redis CPU is that of all of them, and commands are those of one decision. Without hashTags each key has a hash tag of its own, so that hardly any two decisions of a turn lie in one slot, and each travels alone; with ${HASH_TAGS}, all keys share ${HASH_TAGS} tags. The servers and the client have the same cores, so look at CPU and commands rather than at throughput.`,
  goals: [],
  measure,
}

async function measure(scale: Scale): Promise<readonly Table[]> {
  const kinds = [...clusterSubjects, ...(await pastOnCluster(scale))]
  return onCluster(MASTERS, kinds, async (servers, opened) => {
    const rows = await underLoad(servers, opened, scale, distinctKeys(scale.keys))
    return [{ id: 'cluster', title: 'What a decision costs', metrics, rows }]
  })
}
