// One request at a time: what batching costs requests that come alone.

import type { RedisServer } from '@weir/testkit'
import { type Contender, contenders, inProcesses } from '../redis/processes.js'
import { onRedis } from '../redis/stage.js'
import { INCR, RATE_LIMIT_REDIS, subjects } from '../redis/subjects.js'
import { WEIR } from '../redis/weir.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Row, Table } from '../table.js'

const metrics: readonly Metric[] = [
  { id: 'p50', title: 'p50, us', digits: 1, base: INCR },
  { id: 'p99', title: 'p99, us', digits: 1, base: INCR },
  { id: 'clientUs', title: 'client CPU, us', digits: 1, base: INCR },
  { id: 'redisUs', title: 'Redis CPU, us', digits: 1, base: INCR },
]

const ON_ONE = 'alone'
const APART = 'alone-apart'
export const alone: Scenario = {
  id: 'alone',
  title: 'One request at a time',
  about:
    'One request in flight, on one key; all allowed. Times are as the caller sees them. Each subject has a process of its own. With a core each, most of a request is what it takes to wake the other core; on one core nothing but work is left.',
  measure,
}

/** Many short turns, since other load on the machine changes from moment to moment. */
const SLICES = 8
/** Whole turns before the measured ones: V8 still compiles in the first tens of thousands of
 *  requests. */
const WARM_TURNS = 8

async function measure(scale: Scale): Promise<readonly Table[]> {
  const compared = subjects.filter(({ name }) => APART_TOO.has(name))
  return [
    await tableOf(APART, 'A core for the client and one for Redis', [0, 1], compared, scale),
    await tableOf(ON_ONE, 'Both on one core', [0, 0], subjects, scale),
  ]
}

/** The others are measured only on one core. */
const APART_TOO: ReadonlySet<string> = new Set([INCR, ...WEIR, RATE_LIMIT_REDIS])

function tableOf(
  id: string,
  title: string,
  cores: readonly [number, number],
  kinds: typeof subjects,
  scale: Scale,
): Promise<Table> {
  return onRedis([], async (server) => {
    const rows = await oneByOne(server, contenders(kinds), cores, scale)
    return { id, title, metrics, rows }
  })
}

/** The time of a decision with one request in flight, for each subject, turn by turn. */
export function oneByOne(
  server: RedisServer,
  all: readonly Contender[],
  cores: readonly [clients: number, servers: number],
  { rounds, turnMs, keys }: Scale,
): Promise<readonly Row[]> {
  return inProcesses(server, { exercise: 'alone', keys }, all, cores, async (takeTurns) => {
    await takeTurns(WARM_TURNS, turnMs)
    return takeTurns(rounds * SLICES, turnMs / SLICES)
  })
}
