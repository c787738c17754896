// What docs/live-limits.md says about a change, with its numbers: 60 of 100 a minute are used.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Duration,
  fixedWindow,
  gcra,
  leakyBucket,
  memoryStore,
  type Policy,
  RateLimiter,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const docs = readFileSync(resolve(import.meta.dirname, '../../../../docs/live-limits.md'), 'utf8')

type Make = (limit: number, time: Duration) => Policy
const name = 'calls'
const makers: Readonly<Record<string, Make>> = {
  fixedWindow: (limit, window) => fixedWindow({ name, limit, window }),
  slidingWindow: (limit, window) => slidingWindow({ name, limit, window }),
  slidingLog: (limit, window) => slidingLog({ name, limit, window }),
  slidingCounter: (limit, window) => slidingCounter({ name, limit, window }),
  tokenBucket: (capacity, every) => tokenBucket({ name, capacity, refill: capacity, every }),
  gcra: (limit, period) => gcra({ name, limit, period }),
  leakyBucket: (capacity, every) => leakyBucket({ name, capacity, leak: capacity, every }),
}

const rows = [
  ...docs.matchAll(/^\| (`\w+`(?:, `\w+`)+) \| (\d+)\D.*\| (\d+) \| (\d+).*\| (\d+): a new/gm),
]
const documented = rows.flatMap(([, names = '', ...numbers]) =>
  names.split(', ').map((each) => [each.slice(1, -1), numbers.map(Number)] as const),
)

test('the table has all of them', () => {
  expect(documented.map(([maker]) => maker).sort()).toEqual(Object.keys(makers).sort())
})

test.each(documented)('%s keeps what the table says: %j', async (maker, numbers) => {
  const make = makers[maker] as Make
  const store = memoryStore({ clock: fakeClock() })
  const limiterOf = (policy: Policy) => new RateLimiter({ name: 'a', store, policy, shared: true })
  await limiterOf(make(100, '1m')).consume('k', { cost: 60 })
  const left: number[] = []
  for (const [limit, time] of [
    [200, '1m'],
    [80, '1m'],
    [50, '1m'],
    [100, '2m'],
  ] as const)
    left.push((await limiterOf(make(limit, time)).peek('k')).remaining)
  expect(left).toEqual(numbers)
})
