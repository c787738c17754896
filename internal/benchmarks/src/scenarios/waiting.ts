// How late waiting requests pass their turn.

import { strict as assert } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { startRedis } from '@weir/testkit'
import { endChild, nextMessage, startChild } from '../child.js'
import type { Goal } from '../goals.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import { quantile } from '../statistics.js'
import type { Metric, Row, Table } from '../table.js'
import type { WaitReport, WaitTurn } from '../waiting/job.js'

const PROCESSES = 4
const PER_SECOND = 100
const WEIR = 'Weir'
const TIMERS = 'timers'
/** A round takes two seconds, with all waiting requests. */
const MAX_ROUNDS = 3

const metrics: readonly Metric[] = [
  { id: 'p50', title: 'p50, ms', digits: 2, better: 'less' },
  { id: 'p99', title: 'p99, ms', digits: 2, better: 'less' },
  { id: 'most', title: 'latest, ms', digits: 2, better: 'less' },
]

const goals: readonly Goal[] = [
  {
    ...{ table: 'waiting', metric: 'p99', what: 'ms after the turn, p99', of: [WEIR] },
    ...{ peer: undefined, floor: TIMERS, atMost: 10 },
  },
]

export const waiting: Scenario = {
  id: 'waiting',
  title: 'Waiting for a turn',
  about: `200 requests wait in ${PROCESSES} processes for one bucket of ${PER_SECOND} a second: how long after its turn, on Redis's clock, each passes. None may pass earlier. The floor is as many timers for the same times, which a busy machine also delays.`,
  goals,
  measure,
}

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  const waiters = Math.min(200 / PROCESSES, Math.ceil(turnMs / 5))
  const redis = await startRedis()
  const children: ChildProcess[] = []
  try {
    for (let i = 0; i < PROCESSES; i += 1)
      children.push(startChild('waiting/main.js', { redisPort: redis.port }))
    await Promise.all(children.map((child) => nextMessage(child)))
    await turnOf(children, { by: WEIR, key: 'warm-up', waiters: 5 })
    const subjects = [TIMERS, WEIR] as const
    const samples = await inRounds(subjects, Math.min(rounds, MAX_ROUNDS), (by, round) =>
      turnOf(children, { by, key: `round-${round}`, waiters }),
    )
    const rows = subjects.map((subject, i): Row => {
      const kind = subject === WEIR ? 'weir' : 'floor'
      return { subject, kind, samples: samples[i] ?? {} }
    })
    return [{ id: 'waiting', title: 'How late', metrics, rows }]
  } finally {
    await Promise.all(children.map(endChild))
    await redis.stop()
  }
}

async function turnOf(
  children: readonly ChildProcess[],
  turn: Pick<WaitTurn, 'by' | 'key' | 'waiters'>,
): Promise<Turn> {
  const reports = children.map((child, i) => {
    const report = nextMessage<WaitReport>(child)
    const scene = { process: i, processes: PROCESSES, perSecond: PER_SECOND }
    child.send({ ...turn, ...scene } satisfies WaitTurn)
    return report
  })
  const lateMs = (await Promise.all(reports)).flatMap((report) => [...report.lateMs])
  assert.equal(lateMs.length, PROCESSES * turn.waiters)
  const earliest = Math.min(...lateMs)
  assert.ok(earliest > -CLOCKS_MS, `somebody passed ${-earliest} ms before the turn`)
  return { p50: quantile(lateMs, 0.5), p99: quantile(lateMs, 0.99), most: Math.max(...lateMs) }
}

/** How far two clocks may seem apart, since reading one takes time. */
const CLOCKS_MS = 2
