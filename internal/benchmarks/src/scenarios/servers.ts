// Weir on several servers, in the same run. A whole run does not include this scenario; ask for it
// by name.

import { otherServer, type RedisServer, startRedis } from '@weir/testkit'
import { titleOf } from '../machine.js'
import { contenders, underLoad } from '../redis/processes.js'
import { INCR, subjects } from '../redis/subjects.js'
import { WEIR } from '../redis/weir.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Row } from '../table.js'

const metrics: readonly Metric[] = [
  { id: 'rate', title: 'decisions/s', digits: 0 },
  { id: 'clientUs', title: 'client CPU, us', digits: 2 },
  { id: 'redisUs', title: 'Redis CPU, us', digits: 2 },
]

export const servers: Scenario = {
  id: 'servers',
  title: 'Weir on several servers',
  about:
    'Distinct keys and a hot key, as in the whole run, on servers that take turns; INCR shows what the server itself costs.',
  measure: (scale) => onEach(scale, WEIR, binaries()),
}

/** Debian's, and the newest. */
const binaries = (): readonly string[] => [
  ...[otherServer('redis'), otherServer('redis', 'newest')],
  ...[otherServer('valkey'), otherServer('valkey', 'newest')],
]

export async function onEach(
  scale: Scale,
  names: readonly string[],
  programs: readonly string[],
): ReturnType<Scenario['measure']> {
  const started: RedisServer[] = []
  try {
    for (const binary of programs) started.push(await startRedis({ binary }))
    const titles = await Promise.all(started.map(titleOf))
    const kinds = subjects.filter(({ name }) => name === INCR || names.includes(name))
    const all = started.flatMap((server, i) =>
      contenders(kinds).map((each) => ({ ...each, row: `${each.row}, ${titles[i]}`, server })),
    )
    const rowsOf = (exercise: 'distinct' | 'hot'): Promise<readonly Row[]> =>
      underLoad(started[0] as RedisServer, exercise, all, scale)
    return [
      { id: 'distinct', title: 'Distinct keys', metrics, rows: await rowsOf('distinct') },
      { id: 'hot', title: 'A hot key', metrics, rows: await rowsOf('hot') },
    ]
  } finally {
    await Promise.all(started.map((server) => server.stop()))
  }
}
