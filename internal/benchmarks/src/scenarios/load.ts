// Many requests in flight: for keys that are mostly new, and all for one key.

import { BEST_PEER, type Goal } from '../goals.js'
import { INCR } from '../redis/floors.js'
import { IN_FLIGHT } from '../redis/load.js'
import { contenders, underLoad } from '../redis/processes.js'
import { SMALLEST_BATCHED } from '../redis/smallest.js'
import { onRedis } from '../redis/stage.js'
import { subjects } from '../redis/subjects.js'
import { BUCKET, FIXED, WEIR } from '../redis/weir.js'
import type { Scenario } from '../scenario.js'
import type { Metric } from '../table.js'

const metrics: readonly Metric[] = [
  { id: 'rate', title: 'decisions/s', digits: 0, better: 'more', base: INCR },
  { id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less', base: INCR },
  { id: 'redisUs', title: 'Redis CPU, us', digits: 2, better: 'less', base: INCR },
]

const table = 'load'
const best = { table, per: BEST_PEER, peer: BEST_PEER, floor: SMALLEST_BATCHED }
const cpu = 'CPU of a decision'
const distinctGoals: readonly Goal[] = [
  { ...best, metric: 'clientUs', what: `client ${cpu}`, of: WEIR, atMost: 0.39 },
  { ...best, metric: 'redisUs', what: `Redis ${cpu}`, of: [BUCKET, FIXED], atMost: 0.58 },
]
const hotGoals: readonly Goal[] = [
  { ...best, metric: 'rate', what: 'throughput', of: WEIR, atLeast: 5 },
]

export const distinctKeysLoad: Scenario = {
  id: 'distinct-keys',
  title: 'Distinct keys in Redis',
  about: `${IN_FLIGHT} requests in flight from one process and connection, on 100,000 keys in random order, most of them asked about for the first time; all allowed. Each turn begins with an empty Redis.`,
  goals: distinctGoals,
  measure: measuring('distinct'),
}

export const hotKeyLoad: Scenario = {
  id: 'hot-key',
  title: 'One hot key in Redis',
  about: `${IN_FLIGHT} requests in flight from one process and connection, all on one key; all allowed. Each turn begins with an empty Redis.`,
  goals: hotGoals,
  measure: measuring('hot'),
}

function measuring(exercise: 'distinct' | 'hot'): Scenario['measure'] {
  return async (scale) => {
    const rows = await onRedis([], (server) =>
      underLoad(server, exercise, contenders(subjects), scale),
    )
    return [{ id: table, title: 'What a decision costs', metrics, rows }]
  }
}
