// A process with one subject, as a service has one limiter, on servers that others also use. For
// each message, it measures what a decision costs.

import { strict as assert } from 'node:assert'
import { openConnection } from '@weir/testkit'
import { calmly } from './calm.js'
import { clusterSubjects } from './cluster-subjects.js'
import { leased } from './leases.js'
import { aloneTurn, distinctKeys, hotKey, loadTurn } from './load.js'
import { withSubjects } from './stage.js'
import type { RedisSubjectKind } from './subject.js'
import { subjects } from './subjects.js'

type List = readonly RedisSubjectKind[]

const LISTS: Readonly<Record<'single' | 'cluster', List>> = {
  single: [...subjects, ...leased],
  cluster: clusterSubjects,
}

export interface SubjectJob {
  readonly list: keyof typeof LISTS
  /** The row of the subject in that list. */
  readonly name: string
  readonly ports: readonly number[]
  /** One request after another, or many in flight for one key or for many. */
  readonly exercise: 'alone' | 'hot' | 'distinct'
  /** The number of distinct keys. */
  readonly keys: number
}

export interface SubjectTurn {
  /** The prefix of the names of the keys, which differs in each turn: a limiter that remembers what
   *  it saw would take a key that starts again for lost. */
  readonly prefix: string
  readonly forMs: number
  /** Replaces the exercise of the job for this turn. */
  readonly exercise?: SubjectJob['exercise']
}

const { list, name, ports, exercise, keys } = JSON.parse(process.argv[2] as string) as SubjectJob
const kind = LISTS[list].find((each) => each.name === name)
assert.ok(kind, `there is no subject ${name}`)
const servers = ports.map((port) => ({ port, command: openConnection(port).command }))
const distinct = distinctKeys(keys)

await withSubjects(servers, [kind], async ([one]) => {
  assert.ok(one)
  process.on('message', async ({ prefix, forMs, exercise: now = exercise }: SubjectTurn) => {
    const keysOf = now === 'distinct' ? distinct : hotKey
    const turnOf = now === 'alone' ? aloneTurn : loadTurn
    const turn = await calmly(one.subject, (attempt) =>
      turnOf(servers, one, keysOf(`${prefix}-${attempt}`), forMs),
    )
    process.send?.(turn)
  })
  const ended = new Promise((resolve) => process.once('disconnect', resolve))
  process.send?.('ready')
  await ended
})
process.exit(0)
