// A process of one subject, as a service has one limiter, on servers that others use, too. It asks
// whenever it is told to, and says what a decision costs.

import { strict as assert } from 'node:assert'
import { openConnection } from '@weir/testkit'
import { calmly } from './calm.js'
import { clusterSubjects } from './cluster-subjects.js'
import { leased } from './leases.js'
import { aloneTurn, distinctKeys, hotKey, loadTurn } from './load.js'
import { withSubjects } from './stage.js'
import type { RedisSubjectKind } from './subject.js'
import { subjects } from './subjects.js'

type List = () => readonly RedisSubjectKind[] | Promise<readonly RedisSubjectKind[]>

const LISTS: Readonly<Record<'single' | 'cluster' | 'clients', List>> = {
  single: () => [...subjects, ...leased],
  cluster: () => clusterSubjects,
  // An earlier Weir has no adapters of other libraries.
  clients: async () => (await import('./by-client.js')).byClient,
}

export interface SubjectJob {
  readonly list: keyof typeof LISTS
  /** A row of that list. */
  readonly name: string
  readonly ports: readonly number[]
  /** One request after the other, or many in flight on one key or on many. */
  readonly exercise: 'alone' | 'hot' | 'distinct'
  /** How many, if they are distinct. */
  readonly keys: number
}

export interface SubjectTurn {
  /** Begins the names of the keys: another one in each turn, since to a limiter that remembers what
   *  it saw, a key that begins anew has been lost. */
  readonly prefix: string
  readonly forMs: number
  /** Another one than the job's, for this turn. */
  readonly exercise?: SubjectJob['exercise']
}

const { list, name, ports, exercise, keys } = JSON.parse(process.argv[2] as string) as SubjectJob
const kind = (await LISTS[list]()).find((each) => each.name === name)
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
