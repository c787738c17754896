// Weir beside an earlier Weir, in the same run. A whole run does not include this scenario; ask for
// it by name.

import type { ChildProcess } from 'node:child_process'
import { BUILT, nextMessage, startChild, withChildren } from '../child.js'
import { middleware, NOTHING } from '../http/middleware.js'
import type { MiddlewareJob } from '../http/middleware-main.js'
import type { Job } from '../memory/main.js'
import type { Exercise } from '../memory/subject.js'
import { weir as memoryWeir } from '../memory/weir.js'
import { BUCKET, FIXED, SLIDING } from '../policies.js'
import { type Contender, underLoad } from '../redis/processes.js'
import { WEIR_REFUSERS } from '../redis/refusers.js'
import { onRedis } from '../redis/stage.js'
import { WEIR } from '../redis/weir.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import { median } from '../statistics.js'
import type { Metric, Row, Samples } from '../table.js'
import { builtAt } from '../versions/reference.js'
import { oneByOne } from './alone.js'
import { middlewareTurn } from './middleware.js'

const metrics: readonly Metric[] = [
  { id: 'present', title: 'present', digits: 3 },
  { id: 'reference', title: 'reference', digits: 3 },
  { id: 'ratio', title: 'present / reference', digits: 3 },
]

export const versions: Scenario = {
  id: 'versions',
  title: 'Weir beside an earlier Weir',
  about:
    'The same exercises by both, each in processes of its own, turn by turn. A ratio is that of two turns, one after the other; below 1, the present one takes less.',
  measure: (scale) => compare(scale, builtAt(scale.reference)),
}

/**
 * What two builds of the benchmarks need for the same work: the present one and that of
 * `reference`.
 * @param names the subjects that use one Redis
 */
export async function compare(
  scale: Scale,
  reference: string,
  names: readonly string[] = WEIR,
): ReturnType<Scenario['measure']> {
  const sides = [BUILT, reference]
  return [
    { id: 'load', title: 'With one Redis', metrics, rows: await onOneRedis(scale, sides, names) },
    { id: 'refused', title: 'With a Redis each', metrics, rows: await refused(scale, sides) },
    { id: 'memory', title: 'In memory', metrics, rows: await inMemory(scale, sides) },
    { id: 'middleware', title: 'Middleware alone', metrics, rows: await alone(scale, sides) },
  ]
}

/** Both use the same servers, since two servers that do the same work take different times. */
async function onOneRedis(
  scale: Scale,
  sides: readonly string[],
  names: readonly string[],
): Promise<readonly Row[]> {
  const bothOf = (name: string): Contender[] =>
    sides.map((built) => ({ row: name, kind: 'weir', name, built }))
  const all = names.flatMap(bothOf)
  const loaded = (exercise: 'distinct' | 'hot'): Promise<readonly Row[]> =>
    onRedis([], (server) => underLoad(server, exercise, all, scale))
  const alone = await onRedis([], (server) => oneByOne(server, all, [0, 0], scale))
  return [
    ...bothCpus('distinct keys', await loaded('distinct')),
    ...bothCpus('hot key', await loaded('hot')),
    ...bothCpus('one at a time', alone),
  ]
}

/** @param rows for each subject, those of the present and of the reference */
function bothCpus(where: string, rows: readonly Row[]): readonly Row[] {
  const rowsOf = (metric: string, what: string): Row[] => {
    const subjects = [...new Set(rows.map(({ subject }) => subject))]
    return subjects.map((subject) => {
      const samples = rows.filter((row) => row.subject === subject).map((row) => row.samples)
      return rowOf(`${subject}, ${where}, ${what}, us`, samples, metric)
    })
  }
  return [...rowsOf('clientUs', 'client CPU'), ...rowsOf('redisUs', 'Redis CPU')]
}

async function refused(scale: Scale, sides: readonly string[]): Promise<readonly Row[]> {
  const rows: Row[] = []
  const turnOf = (child: ChildProcess, subject: string): Promise<Turn> => {
    child.send(subject)
    return nextMessage(child)
  }
  for (const subject of WEIR_REFUSERS) {
    const samples = await inNewProcesses(sides, 'versions/main.js', scale, scale, async (all) => {
      await inRounds(all, Math.min(3, scale.rounds), (child) => turnOf(child, subject))
      return inRounds(all, 1, (child) => turnOf(child, subject))
    })
    rows.push(rowOf(`${subject}, refused, client CPU, us`, samples, 'cpuUs'))
  }
  return rows
}

async function inMemory(scale: Scale, sides: readonly string[]): Promise<readonly Row[]> {
  const rows: Row[] = []
  const samplesOf = (exercise: Exercise, subject: string, rounds: number): Promise<Samples[]> => {
    const job: Job = { subject, exercise, scale }
    return inRounds(sides, rounds, (side) =>
      nextMessage(startChild('memory/main.js', job, [], side)),
    )
  }
  for (const { name } of memoryWeir) {
    rows.push(
      rowOf(`${name}, one key, CPU, ns`, await samplesOf('one-key', name, scale.rounds), 'cpuNs'),
    )
  }
  for (const name of [BUCKET, FIXED, SLIDING]) {
    const many = await samplesOf('many-keys', name, Math.ceil(scale.rounds / 2))
    rows.push(
      rowOf(`${name}, many keys, CPU, ns`, many, 'cpuNs'),
      rowOf(`${name}, many keys, bytes a key`, many, 'bytes'),
    )
  }
  return rows
}

async function alone(scale: Scale, sides: readonly string[]): Promise<readonly Row[]> {
  const { turnMs } = scale
  const rows: Row[] = []
  let nothing = 0
  for (const { name } of middleware.filter(
    ({ name, kind }) => name === NOTHING || kind === 'weir',
  )) {
    const job: MiddlewareJob = { name }
    const entry = 'http/middleware-main.js'
    const samples = await inNewProcesses(sides, entry, job, scale, async (children) => {
      await inRounds(children, 2, (child) => middlewareTurn(child, 2 * turnMs))
      return inRounds(children, 1, (child) => middlewareTurn(child, turnMs))
    })
    if (name === NOTHING) nothing = median(samples.flatMap(({ us = [] }) => us))
    else {
      const added = samples.map(({ us = [] }) => ({ us: us.map((each) => each - nothing) }))
      rows.push(rowOf(`${name}, CPU, us`, added, 'us'))
    }
  }
  return rows
}

/**
 * Starts a new process of each side in each round, alternately first: V8 optimizes the same code
 * differently in each process.
 */
async function inNewProcesses(
  sides: readonly string[],
  entry: string,
  job: object,
  { rounds }: Scale,
  work: (children: readonly ChildProcess[]) => Promise<readonly Samples[]>,
): Promise<Samples[]> {
  const all: (readonly Samples[])[] = []
  for (let i = 0; i < rounds; i += 1) {
    const inOrder = <Each>(each: readonly Each[]): readonly Each[] =>
      i % 2 === 0 ? each : each.toReversed()
    const jobs = sides.map(() => job)
    all.push(inOrder(await withChildren(entry, jobs, work, inOrder(sides))))
  }
  return sides.map((_, side) => {
    const ofSide = all.map((samples) => samples[side] as Samples)
    const ids = Object.keys(ofSide[0] as Samples)
    return Object.fromEntries(ids.map((id) => [id, ofSide.flatMap((each) => each[id] ?? [])]))
  })
}

function rowOf(subject: string, [present, reference]: readonly Samples[], metric: string): Row {
  const [now, then] = [present?.[metric] ?? [], reference?.[metric] ?? []]
  const ratio = now.map((value, round) => value / (then[round] as number))
  return { subject, kind: 'weir', samples: { present: now, reference: then, ratio } }
}
