// A row that nothing can fail is worthless: the matrix must detect a limiter that is told to
// misbehave. For each change it is told to in one way, weekly in all.
import { isWeekly } from '@weir/testkit'
import { expect, test } from 'vitest'
import type { Job } from '../../src/faults/client/protocol.js'
import { judge } from '../../src/faults/judge.js'
import { SHORT } from '../../src/faults/outage.js'
import { idOf } from '../../src/faults/row.js'
import { rows } from '../../src/faults/rows.js'

interface Misbehaviour {
  readonly row: string
  readonly sabotage: Partial<Job>
  /** The checks that must fail. */
  readonly found: readonly string[]
}

const LETS_ALL_PASS = { store: { whenUnavailable: 'allow' } } as const
const ONE_TOO_MANY = {
  policy: { make: 'fixedWindow', options: { name: 'second', limit: 101, window: 1_000 } },
}

const FOR_EACH_CHANGE: Readonly<Record<string, Misbehaviour>> = {
  'letting all requests pass without Redis': { row: '2', sabotage: LETS_ALL_PASS, found: ['over'] },
}

const WEEKLY: Readonly<Record<string, Misbehaviour>> = {
  'waiting for a hung Redis': {
    row: '3',
    sabotage: { client: 'plain', store: { deadlineMs: 10_000 } },
    found: ['hangs'],
  },
  'throwing without Redis': {
    row: '2',
    sabotage: { store: { whenUnavailable: 'throw' } },
    found: ['errors'],
  },
  'waiting for a slow Redis': {
    row: '10',
    sabotage: { store: { deadlineMs: 300 } },
    found: ['p99'],
  },
  'processes that each take the whole limit': {
    row: '17 limit 100, instances given',
    sabotage: { store: { instances: 1 } },
    found: ['per window in total'],
  },
  'letting all waiting requests pass without Redis': {
    row: '2 waiting',
    sabotage: LETS_ALL_PASS,
    found: ['over'],
  },
  'settling that waits for a hung Redis': {
    row: '3 settling',
    sabotage: { store: { deadlineMs: 2_000 } },
    found: ['max'],
  },
  'processes that are cut off and take the whole limit': {
    row: '32',
    sabotage: { store: { instances: 1 } },
    found: ['4 processes: 1 cut off', '10 processes: 9 cut off'],
  },
  'first calls that wait, though nobody has counted the processes': {
    row: '44',
    sabotage: { store: { instances: 1 } },
    found: ['over', 'degraded'],
  },
  'one request more than the limit': {
    row: '18',
    sabotage: ONE_TOO_MANY,
    found: ['most in a window'],
  },
}

const all = { ...FOR_EACH_CHANGE, ...(isWeekly && WEEKLY) }

test.concurrent.each(Object.entries(all))('found: %s', async (_, { row: id, sabotage, found }) => {
  const row = rows.find((each) => idOf(each) === id)
  if (row === undefined) throw new Error(`no row ${id}`)
  const { checks } = await judge(row, SHORT, sabotage)
  const failed = checks.filter(({ ok }) => !ok).map(({ what }) => what)
  expect(failed).toEqual(expect.arrayContaining([...found]))
})
