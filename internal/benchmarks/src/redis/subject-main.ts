// A process with one subject, as a service has one limiter, on a server that others also use. For
// each message, it measures what a decision costs.

import { strict as assert } from 'node:assert'
import { openConnection } from '@weir/testkit'
import { calmly } from './calm.js'
import { aloneTurn, distinctKeys, hotKey, loadTurn } from './load.js'
import { withSubjects } from './stage.js'
import { subjects } from './subjects.js'

export interface SubjectJob {
  readonly name: string
  readonly port: number
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
}

const { name, port, exercise, keys } = JSON.parse(process.argv[2] as string) as SubjectJob
const kind = subjects.find((each) => each.name === name)
assert.ok(kind, `there is no subject ${name}`)
const server = { port, command: openConnection(port).command }
const distinct = distinctKeys(keys)

await withSubjects(server, [kind], async ([one]) => {
  assert.ok(one)
  process.on('message', async ({ prefix, forMs }: SubjectTurn) => {
    const keysOf = exercise === 'distinct' ? distinct : hotKey
    const turnOf = exercise === 'alone' ? aloneTurn : loadTurn
    const turn = await calmly(one.subject, (attempt) =>
      turnOf(server, one, keysOf(`${prefix}-${attempt}`), forMs),
    )
    process.send?.(turn)
  })
  const ended = new Promise((resolve) => process.once('disconnect', resolve))
  process.send?.('ready')
  await ended
})
process.exit(0)
