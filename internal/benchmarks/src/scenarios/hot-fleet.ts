// One hot key of a fleet, with and without leases: the calls to Redis, and what is admitted.

import { strict as assert } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { type RedisServer, startRedis } from '@weir/testkit'
import { endChild, nextMessage, startChild } from '../child.js'
import { type HotReport, type HotTurn, WINDOW_MS } from '../hot-fleet/job.js'
import { scriptTime } from '../redis/server-stats.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Row, Table } from '../table.js'

const PROCESSES = 8
const LIMIT = 100_000
const LOADS = [0.5, 0.95, 2] as const
const ALGORITHMS = ['token bucket', 'sliding window'] as const
/** A round takes minutes. */
const MAX_ROUNDS = 3
/** A process hears of Redis's decision somewhat after it was made. */
const HEARD_MS = 20

const metrics: readonly Metric[] = [
  { id: 'calls', title: 'scripts/s', digits: 0, better: 'less' },
  { id: 'server', title: 'Redis, % of a core', digits: 1, better: 'less' },
  { id: 'client', title: 'a process, % of a core', digits: 1, better: 'less' },
  { id: 'ahead', title: 'without a round trip, %', digits: 1, better: 'more' },
  { id: 'p50', title: 'p50, ms', digits: 3, better: 'less' },
  { id: 'p99', title: 'p99, ms', digits: 3, better: 'less' },
  { id: 'used', title: 'of what may pass, %', digits: 1, better: 'more' },
]

export const hotFleet: Scenario = {
  id: 'hot-fleet',
  title: 'One hot key of a fleet',
  about: `${PROCESSES} processes ask at an even pace for one key with a limit of ${LIMIT.toLocaleString('en')} in ${WINDOW_MS / 1_000} s, at 50, 95 and 200 % of it; with leases of up to 1,000 units for 200 ms, and without. What may pass is the smaller of what is asked for and what the limit lets through from the beginning, when the bucket is full and the window unused. It throws if more passes.`,
  goals: [],
  measure,
}

interface Subject {
  readonly name: string
  readonly turn: Pick<HotTurn, 'algorithm' | 'leases'> & { readonly load: number }
}

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  // In a full run, two windows.
  const forMs = 50 * turnMs
  const redis = await startRedis()
  const children: ChildProcess[] = []
  try {
    for (let i = 0; i < PROCESSES; i += 1)
      children.push(startChild('hot-fleet/main.js', { redisPort: redis.port }))
    await Promise.all(children.map((child) => nextMessage(child)))
    const tables: Table[] = []
    for (const algorithm of ALGORITHMS) {
      const subjects = LOADS.flatMap((load): Subject[] =>
        [false, true].map((leases) => ({
          name: `${100 * load} %${leases ? ', leases' : ''}`,
          turn: { algorithm, leases, load },
        })),
      )
      const samples = await inRounds(subjects, Math.min(rounds, MAX_ROUNDS), (subject, round) =>
        turnOf(redis, children, subject, round, forMs),
      )
      const rows = subjects.map(({ name }, i): Row => {
        return { subject: name, kind: 'weir', samples: samples[i] ?? {} }
      })
      tables.push({ id: algorithm.replace(' ', '-'), title: algorithm, metrics, rows })
    }
    return tables
  } finally {
    await Promise.all(children.map(endChild))
    await redis.stop()
  }
}

async function turnOf(
  redis: RedisServer,
  children: readonly ChildProcess[],
  { name, turn: { load, algorithm, leases } }: Subject,
  round: number,
  forMs: number,
): Promise<Turn> {
  const perSecond = (load * LIMIT) / (WINDOW_MS / 1_000)
  const key = `${algorithm} ${load} ${leases} ${round}`.replaceAll(' ', '-')
  const turn = { algorithm, leases, limit: LIMIT, key, forMs, perSecond: perSecond / PROCESSES }
  let reports: readonly HotReport[] = []
  const { us, calls } = await scriptTime(redis, async () => {
    reports = await Promise.all(
      children.map((child) => {
        const report = nextMessage<HotReport>(child)
        child.send(turn satisfies HotTurn)
        return report
      }),
    )
  })
  const passed = allowedBy(reports)
  const worst = mostIn(passed, WINDOW_MS - HEARD_MS)
  const most = algorithm === 'token bucket' ? 2 * LIMIT : LIMIT
  assert.ok(worst <= most, `${name}: ${worst} passed in a window, where ${most} may`)
  const asked = sumOf(reports.map((report) => report.asked))
  const all = sumOf(passed.map(([, count]) => count))
  const windows = forMs / WINDOW_MS
  const may = LIMIT * (algorithm === 'token bucket' ? 1 + windows : Math.ceil(windows))
  return {
    calls: calls / (forMs / 1_000),
    server: us / 10 / forMs,
    client: (100 * sumOf(reports.map(({ busy }) => busy))) / reports.length,
    ahead: 100 * (1 - sumOf(reports.map(({ byRedis }) => byRedis)) / asked),
    p50: Math.max(...reports.map(({ tookMs: [p50] }) => p50)),
    p99: Math.max(...reports.map(({ tookMs: [, p99] }) => p99)),
    used: (100 * all) / Math.min(asked, may),
  }
}

/** What passed in all processes, by the ms, in order. */
function allowedBy(reports: readonly HotReport[]): (readonly [ms: number, count: number])[] {
  const counts = new Map<number, number>()
  for (const { allowed } of reports)
    for (const [ms, count] of allowed) counts.set(ms, (counts.get(ms) ?? 0) + count)
  return [...counts].sort(([one], [other]) => one - other)
}

/** The most that passed in any span of `spanMs`. */
function mostIn(passed: readonly (readonly [ms: number, count: number])[], spanMs: number): number {
  let most = 0
  let sum = 0
  let first = 0
  for (const [ms, count] of passed) {
    sum += count
    for (; (passed[first]?.[0] ?? ms) <= ms - spanMs; first += 1) sum -= passed[first]?.[1] ?? 0
    most = Math.max(most, sum)
  }
  return most
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
