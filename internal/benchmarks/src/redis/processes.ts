// Subjects that take turns, each in a process of its own, as a service has one limiter: in one
// process all would pay for what V8 makes of the code that they share. All use the same servers,
// since two servers that do the same work take different times.

import type { ChildProcess } from 'node:child_process'
import type { RedisServer } from '@weir/testkit'
import { BUILT, endChild, nextMessage, startChild } from '../child.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale } from '../scenario.js'
import type { Kind, Row, Samples } from '../table.js'
import { onCores } from './cores.js'
import type { RedisSubjectKind } from './subject.js'
import type { SubjectJob, SubjectTurn } from './subject-main.js'

export interface Contender {
  readonly row: string
  readonly kind: Kind
  readonly name: string
  /** The benchmarks of its version of Weir. */
  readonly built: string
}

/** Subjects as they are at present. */
export function contenders(
  kinds: readonly Pick<RedisSubjectKind, 'name' | 'kind'>[],
): readonly Contender[] {
  return kinds.map(({ name, kind }) => ({ row: name, kind, name, built: BUILT }))
}

export type TakeTurns = (count: number, forMs: number) => Promise<Samples[]>

/** @param cores of each client, and of the servers; undefined: wherever the system puts them */
export async function inProcesses(
  servers: readonly RedisServer[],
  job: Pick<SubjectJob, 'list' | 'exercise' | 'keys'>,
  all: readonly Contender[],
  cores: readonly [clients: number, servers: number] | undefined,
  work: (takeTurns: TakeTurns) => Promise<Samples[]>,
): Promise<readonly Row[]> {
  const ports = servers.map(({ port }) => port)
  const children: ChildProcess[] = []
  let rounds = 0
  const takeTurns: TakeTurns = (count, forMs) => {
    const first = rounds
    rounds += count
    return inRounds(children, count, (child, i) => {
      if (!child.connected) throw new Error(`a process has ended: ${child.spawnargs.join(' ')}`)
      child.send({ prefix: `r${first + i}`, forMs } satisfies SubjectTurn)
      return nextMessage<Turn>(child)
    })
  }
  try {
    // One after the other: each empties the servers to see that its limit holds.
    for (const { name, built } of all) {
      const own: SubjectJob = { ...job, name, ports }
      const child = startChild('redis/subject-main.js', own, [], built)
      children.push(child)
      await nextMessage(child)
    }
    const pids = [...children, ...servers].map(({ pid }) => pid as number)
    const coreOf = cores && pids.map((_, i) => cores[i < children.length ? 0 : 1])
    const samples = await onCores(pids, coreOf, () => work(takeTurns))
    return all.map(({ row, kind }, i) => ({ subject: row, kind, samples: samples[i] ?? {} }))
  } finally {
    // Before the servers end, and before something else is measured.
    await Promise.all(children.map(endChild))
  }
}

/** V8 optimizes for some hundred thousand decisions. */
const WARM_ROUNDS = 3

/** Short turns and many of them: what else the machine does changes from moment to moment. */
const SLICES = 4

/** What a decision costs each of them with many requests in flight, turn by turn. */
export function underLoad(
  servers: readonly RedisServer[],
  job: Pick<SubjectJob, 'list' | 'exercise'>,
  all: readonly Contender[],
  { rounds, turnMs, keys, oneCore }: Scale,
): Promise<readonly Row[]> {
  const cores = oneCore ? ([0, 0] as const) : undefined
  return inProcesses(servers, { ...job, keys }, all, cores, async (takeTurns) => {
    await takeTurns(Math.min(rounds, WARM_ROUNDS), turnMs)
    return takeTurns(rounds * SLICES, turnMs / SLICES)
  })
}
