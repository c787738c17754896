// The memory for a log does not grow with its length.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { slidingWindow } from '@weir/core'
import { isWeekly } from '@weir/testkit'
import { randomOf } from '@weir/testkit/virtual-time'
import { expect, test } from 'vitest'
import { simulateLog } from '../src/node.js'
import { Reorder } from '../src/run/reorder.js'
import { folder } from './folder.js'

const files = folder()

const START_S = Date.UTC(2026, 9, 10) / 1_000
const DAY_S = 86_400

/** A line of each client: in the Combined Log Format, or as JSON. */
function logOf(lines: number, isJson: boolean): string {
  const { next } = randomOf(7)
  const all = Array.from({ length: lines }, (_, i) => {
    const time = new Date(1_000 * (START_S + Math.floor((i / lines) * DAY_S))).toISOString()
    const ip = `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`
    const path = `/items/${Math.floor(next() * 1_000)}?page=${i % 7}`
    return isJson
      ? `{"time":"${time}","ip":"${ip}","method":"GET","path":"${path}","status":200,"bytes":512}\n`
      : `${ip} - - [10/Oct/2026:${time.slice(11, 19)} +0000] "GET ${path} HTTP/1.1" 200 512 "-" "curl/8.5.0"\n`
  })
  const log = files.path(`${lines}-${isJson}.txt`)
  writeFileSync(log, all.join(''))
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
