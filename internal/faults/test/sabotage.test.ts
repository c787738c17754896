// A row that nothing can fail is worthless: the matrix must detect a limiter that is told to
// misbehave.
import { describe, expect, test } from 'vitest'
import type { Job } from '../src/client/protocol.js'
import { judge } from '../src/judge.js'
import { SHORT } from '../src/outage.js'
import { idOf } from '../src/row.js'
import { rows } from '../src/rows.js'

/** The checks that failed in a row under sabotage. */
async function found(id: string, sabotage: Partial<Job>): Promise<string[]> {
  const row = rows.find((each) => idOf(each) === id)
  if (row === undefined) throw new Error(`no row ${id}`)
  const { checks } = await judge(row, SHORT, sabotage)
  return checks.filter(({ ok }) => !ok).map(({ what }) => what)
}

describe('sabotage', () => {
  test.concurrent('letting all requests pass without Redis is found as over the limit', async () => {
    expect(await found('2', { store: { whenUnavailable: 'allow' } })).toContain('over')
  })

  test.concurrent('throwing without Redis is found as an error', async () => {
    expect(await found('2', { store: { whenUnavailable: 'throw' } })).toContain('errors')
  })

  test.concurrent('waiting for a hung Redis is found as a hang', async () => {
    expect(await found('3', { client: 'plain', store: { deadlineMs: 10_000 } })).toContain('hangs')
  })

  test.concurrent('waiting for a slow Redis is found as slow', async () => {
    expect(await found('10', { store: { deadlineMs: 300 } })).toContain('p99')
  })

  test.concurrent('processes that each take the whole limit are found as over it in total', async () => {
    const checks = await found('17 limit 100, instances given', { store: { instances: 1 } })
    expect(checks).toContain('per window in total')
  })

  test.concurrent('admissions that are not counted after an outage are found', async () => {
    const checks = await found('cut recovery', { store: { whenUnavailable: 'allow' } })
    expect(checks).toContain('admitted but not counted')
  })

  test.concurrent('a policy that lets all pass though it should deny is found', async () => {
    const checks = await found('22 policies on two', { store: { whenUnavailable: 'allow' } })
    expect(checks).toEqual(expect.arrayContaining(['deny: allowed, %', 'throw: thrown, %']))
  })

  test.concurrent('letting all waiting requests pass without Redis is found as over the limit', async () => {
    expect(await found('2 waiting', { store: { whenUnavailable: 'allow' } })).toContain('over')
  })

  test.concurrent('settling that waits for a hung Redis is found as slow', async () => {
    expect(await found('3 settling', { store: { deadlineMs: 2_000 } })).toContain('max')
  })

  test.concurrent('processes that are cut off and take the whole limit are found', async () => {
    const checks = await found('32', { store: { instances: 1 } })
    expect(checks).toEqual(
      expect.arrayContaining(['4 processes: 1 cut off', '10 processes: 9 cut off']),
    )
  })

  test.concurrent('processes that know of no others when they lose Redis are found', async () => {
    const checks = await found('26', { store: { instances: 1 } })
    expect(checks).toEqual(
      expect.arrayContaining(['4 processes: key seen before', '10 processes: new key']),
    )
  })

  test.concurrent('one request more than the limit is found', async () => {
    const policy = { make: 'fixedWindow', options: { name: 'second', limit: 101, window: 1_000 } }
    expect(await found('18', { policy })).toContain('most in a window')
  })
})
