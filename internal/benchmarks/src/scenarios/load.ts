// Many requests in flight: for keys that are mostly new, and all for one key.

import { otherServer, type RedisServer } from '@weir/testkit'
import { IN_FLIGHT } from '../redis/load.js'
import { contenders, underLoad } from '../redis/processes.js'
import { onRedis } from '../redis/stage.js'
import { INCR, subjects } from '../redis/subjects.js'
import type { Scenario } from '../scenario.js'
import type { Metric, Row, Table } from '../table.js'

const metrics: readonly Metric[] = [
  { id: 'rate', title: 'decisions/s', digits: 0, base: INCR },
  { id: 'clientUs', title: 'client CPU, us', digits: 2, base: INCR },
  { id: 'redisUs', title: 'server CPU, us', digits: 2, base: INCR },
]

export const distinctKeysLoad: Scenario = {
  id: 'distinct-keys',
  title: 'Distinct keys in Redis',
  about: `${IN_FLIGHT} requests in flight from one process and connection, on 100,000 keys in random order, most of them asked about for the first time; all allowed. Each turn begins with an empty Redis.`,
  measure: measuring('distinct'),
}

export const hotKeyLoad: Scenario = {
  id: 'hot-key',
  title: 'One hot key in Redis',
  about: `${IN_FLIGHT} requests in flight from one process and connection, all on one key; all allowed. Each turn begins with an empty Redis.`,
  measure: measuring('hot'),
}

function measuring(exercise: 'distinct' | 'hot'): Scenario['measure'] {
  return async (scale) => {
    const tableOf = async (id: string, title: string, binary?: string): Promise<Table> => {
      const work = (server: RedisServer): Promise<readonly Row[]> =>
        underLoad(server, exercise, contenders(subjects), scale)
      return { id, title, metrics, rows: await onRedis([], work, binary) }
    }
    const tables = [await tableOf('load', 'What a decision costs')]
    if (scale.onValkey)
      tables.push(await tableOf('valkey', 'The same on Valkey', otherServer('valkey', 'newest')))
    return tables
  }
}
