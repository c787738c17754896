// The example numbers in docs/headers.md are those that are sent.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  lockout,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.js'
import { FakeResponse, limitOn } from '../exchange.js'

const document = readFileSync(join(import.meta.dirname, '../../../../../docs/headers.md'), 'utf8')

const numbers = { limit: 100, window: '1m' } as const
const name = 'p'

/** `before`: the units taken before the shown request, and after how many ms. */
interface Row {
  readonly made: string
  readonly policy: Policy
  readonly taken: number
  readonly passedMs: number
  readonly cost?: number
}

const rows: readonly Row[] = [
  ...(
    [
      ["fixedWindow({ limit: 100, window: '1m' })", fixedWindow({ name, ...numbers })],
      ["slidingWindow({ limit: 100, window: '1m' })", slidingWindow({ name, ...numbers })],
      ["slidingLog({ limit: 100, window: '1m' })", slidingLog({ name, ...numbers })],
      ["slidingCounter({ limit: 100, window: '1m' })", slidingCounter({ name, ...numbers })],
      [
        "tokenBucket({ capacity: 100, refill: 100, every: '1m' })",
        tokenBucket({ name, capacity: 100, refill: 100, every: '1m' }),
      ],
      ["gcra({ limit: 100, period: '1m' })", gcra({ name, limit: 100, period: '1m' })],
      [
        "leakyBucket({ capacity: 100, leak: 100, every: '1m' })",
        leakyBucket({ name, capacity: 100, leak: 100, every: '1m' }),
      ],
    ] as const
  ).flatMap(([made, policy]) => [
    { made, policy, taken: 39, passedMs: 15_000 },
    { made, policy, taken: 100, passedMs: 0 },
  ]),
  ...[1, 3].map((taken) => ({
    made: "lockout({ limit: 3, window: '10m', block: ['1m'], forget: '1d' })",
    policy: lockout({ name, limit: 3, window: '10m', block: ['1m'], forget: '1d' }),
    taken,
    passedMs: taken === 1 ? 15_000 : 0,
  })),
  ...[2, 5].map((taken) => ({
    made: "concurrency({ limit: 5, holdTimeout: '30s' })",
    policy: concurrency({ name, limit: 5, holdTimeout: '30s' }),
    taken,
    passedMs: taken === 2 ? 15_000 : 0,
  })),
]

async function shown({ policy, taken, passedMs, cost = 1 }: Row): Promise<string> {
  const { send, limiter, clock } = limitOn({ policy, cost: () => cost })
  // A lock-out counts each request as one attempt, whatever it costs; slots are taken by requests.
  const isOne = ['lockout', 'concurrency'].includes(policy.algorithm)
  const each = isOne ? 1 : taken
  for (let units = 0; units < taken; units += each) {
    if (policy.algorithm === 'concurrency') await limiter.consume('192.0.2.1')
    else await limiter.penalty('192.0.2.1', { cost: each })
  }
  clock.advance(passedMs)
  const response = new FakeResponse()
  await send({}, response)
  const { RateLimit = '', 'Retry-After': wait } = response.headers
  return `\`${RateLimit.replace('"p";', '')}\`${wait === undefined ? '' : `, \`Retry-After: ${wait}\``}`
}

test.each(rows)('$made after $taken units and $passedMs ms', async (row) => {
  const when =
    row.passedMs === 0 ? `${row.taken} at once` : `${row.taken}, ${row.passedMs / 1_000} s`
  expect(document).toContain(`| \`${row.made}\` | ${when} | ${await shown(row)} |`)
})

test.each([
  [slidingWindow({ name, ...numbers }), '100 units at once, 61'],
  [slidingCounter({ name, limit: 10, window: '20s' }), '10 units at once, 22'],
])('a wait longer than w: %o', async (policy, said) => {
  const wait = /Retry-After: (\d+)/.exec(
    await shown({ made: '', policy, taken: policy.limit, passedMs: 0 }),
  )?.[1]
  expect(said).toMatch(new RegExp(` ${wait}$`))
  expect(document).toContain(`\`Retry-After: ${wait}\``)
})
