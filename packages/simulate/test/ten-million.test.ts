// A short form of ten-million.mjs: the memory for a log does not grow with its length.

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { Reorder } from '../src/run/reorder.js'
import { folder } from './folder.js'
import { linesOf, writeLog } from './ten-million.mjs'

const files = folder()
const program = resolve(import.meta.dirname, 'simulate-main.mjs')

function simulated(lines: number, isJson: boolean) {
  const log = files.path(`${lines}-${isJson}.txt`)
  writeLog(log, lines, isJson)
  const { stdout, stderr } = spawnSync(process.execPath, [program, log], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

test.each([
  ['Combined', false],
  ['JSON', true],
])(
  '200,000 lines of %s, each from another client, take less than 300 MB',
  { timeout: 120_000 },
  (_, isJson) => {
    const { report, rssMb } = simulated(200_000, isJson)
    expect(report).toMatchObject({ entries: 200_000, isCoarse: true })
    expect(report.limiters[0]).toMatchObject({ requests: 200_000, keys: 200_000 })
    expect(rssMb).toBeLessThan(300)
  },
)

test('both formats of the log give the same result', { timeout: 120_000 }, () => {
  const [combined, json] = [false, true].map((isJson) => simulated(20_000, isJson).report)
  expect({ ...combined, log: undefined }).toEqual({ ...json, log: undefined })
  expect([...linesOf(3, false)]).toHaveLength(3)
})

test('of a log in order, at most 8,192 requests are held back, and the others are passed on', () => {
  const passed: number[] = []
  const reorder = new Reorder<number>((timeUs) => passed.push(timeUs))
  for (let i = 0; i < 100_000; i += 1) reorder.add(i, i)
  expect(passed).toHaveLength(100_000 - 8_192)
  reorder.end()
  expect(passed).toEqual([...Array(100_000).keys()])
})
