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
  },
  {
    ...{ id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less', base: INCR },
  },
  {
    ...{ id: 'redisUs', title: 'Redis CPU, us', digits: 2, better: 'less', base: INCR },
  },
]

const HOT: readonly Metric[] = [
  {
    ...{ id: 'rate', title: 'decisions/s', digits: 0, better: 'more', base: INCR },
  },
  {
    ...{ id: 'clientUs', title: 'client CPU, us', digits: 2, better: 'less', base: INCR },
  },
  {
    ...{ id: 'redisUs', title: 'Redis CPU, us', digits: 2, better: 'less', base: INCR },
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
    return measure(scale, contenders(subjects), DISTINCT, 'distinct')
  },
}

export const hotKeyLoad: Scenario = {
  id: 'hot-key',
  title: 'One hot key in Redis',
  about: `${IN_FLIGHT} requests in flight from one process and connection, all on one key; all allowed. Each turn begins with an empty Redis.`,
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
