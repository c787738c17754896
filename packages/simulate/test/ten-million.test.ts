// A short form of ten-million.mjs: the memory for a log does not grow with its length.

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { slidingWindow } from '@weir/core'
import { isWeekly } from '@weir/testkit'
import { expect, test } from 'vitest'
import { simulateLog } from '../src/node.js'
import { Reorder } from '../src/run/reorder.js'
import { folder } from './folder.js'
import { writeLog } from './ten-million.mjs'

const files = folder()

function logOf(lines: number, isJson: boolean): string {
  const log = files.path(`${lines}-${isJson}.txt`)
  writeLog(log, lines, isJson)
  return log
}

// In a process of its own.
const MANY = isWeekly ? 200_000 : 20_000

test.each([
  ['Combined', false],
  ['JSON', true],
])('a log of %s, each line from another client, takes less than 300 MB', (_, isJson) => {
  const program = resolve(import.meta.dirname, 'simulate-main.mjs')
  const args = [program, logOf(MANY, isJson)]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(stderr).toBe('')
  const { report, rssMb } = JSON.parse(stdout)
  expect(report).toMatchObject({ entries: MANY, isCoarse: true })
  expect(report.limiters[0]).toMatchObject({ requests: MANY, keys: MANY })
  expect(rssMb).toBeLessThan(300)
})

test('both formats of the log give the same result', async () => {
  const policies = slidingWindow({ limit: 20, window: '1m' })
  const [combined, json] = await Promise.all(
    [false, true].map((isJson) => simulateLog({ logs: [logOf(5_000, isJson)], policies })),
  )
  expect(combined).toMatchObject({ entries: 5_000, isCoarse: true })
  expect({ ...combined, log: undefined }).toEqual({ ...json, log: undefined })
})

test('of a log in order, at most 8,192 requests are held back, and the others are passed on', () => {
  const passed: number[] = []
  const reorder = new Reorder<number>((timeUs) => passed.push(timeUs))
  for (let i = 0; i < 20_000; i += 1) reorder.add(i, i)
  expect(passed).toHaveLength(20_000 - 8_192)
  reorder.end()
  expect(passed).toEqual([...Array(20_000).keys()])
})
