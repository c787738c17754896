// Subjects that take turns, each in a separate process, as a service has one limiter: in a common
// process, each would be affected by how V8 optimizes the code that they share. All use the same
// server, since two servers that do the same work take different times.

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
  /** The built benchmarks of its version of Weir. */
  readonly built: string
  /** Another server than that of the others. */
  readonly server?: RedisServer
}

/** The subjects of the present version. */
export function contenders(
  kinds: readonly Pick<RedisSubjectKind, 'name' | 'kind'>[],
): readonly Contender[] {
  return kinds.map(({ name, kind }) => ({ row: name, kind, name, built: BUILT }))
}

export type TakeTurns = (count: number, forMs: number) => Promise<Samples[]>

/** @param cores for each client, and for the server; if undefined, the system chooses */
export async function inProcesses(
  server: RedisServer,
  job: Pick<SubjectJob, 'exercise' | 'keys'>,
  all: readonly Contender[],
  cores: readonly [clients: number, server: number] | undefined,
  work: (takeTurns: TakeTurns) => Promise<Samples[]>,
): Promise<readonly Row[]> {
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
    // One after another, since each empties the server to check that its limit holds.
    for (const { name, built, server: of = server } of all) {
      const own: SubjectJob = { ...job, name, port: of.port }
      const child = startChild('redis/subject-main.js', own, [], built)
      children.push(child)
      await nextMessage(child)
    }
    const pids = [...children, server].map(({ pid }) => pid as number)
    const coreOf = cores && pids.map((_, i) => cores[i < children.length ? 0 : 1])
    const samples = await onCores(pids, coreOf, () => work(takeTurns))
    return all.map(({ row, kind }, i) => ({ subject: row, kind, samples: samples[i] ?? {} }))
  } finally {
    // Before the server ends, and before anything else is measured.
    await Promise.all(children.map(endChild))
  }
}

/** V8 needs a few hundred thousand decisions to optimize the code. */
const WARM_ROUNDS = 3

/** Many short turns, since other load on the machine changes from moment to moment. */
const SLICES = 4

/** What a decision costs each of them with many requests in flight, turn by turn. */
export function underLoad(
  server: RedisServer,
  exercise: SubjectJob['exercise'],
  all: readonly Contender[],
  { rounds, turnMs, keys, oneCore }: Scale,
): Promise<readonly Row[]> {
  const cores = oneCore ? ([0, 0] as const) : undefined
  return inProcesses(server, { exercise, keys }, all, cores, async (takeTurns) => {
    await takeTurns(Math.min(rounds, WARM_ROUNDS), turnMs)
    return takeTurns(rounds * SLICES, turnMs / SLICES)
  })
}
