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
  type RateLimiter,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.js'
import { FakeResponse, limitOn } from '../exchange.js'

const document = readFileSync(join(import.meta.dirname, '../../../../../docs/headers.md'), 'utf8')

const numbers = { limit: 100, window: '1m' } as const
const name = 'p'

interface Row {
  readonly policy: Policy
  readonly taken: number
  readonly passedMs: number
}

/** The same limit, by each policy in the table. */
const HUNDRED: Readonly<Record<string, Policy>> = {
  fixedWindow: fixedWindow({ name, ...numbers }),
  slidingWindow: slidingWindow({ name, ...numbers }),
  slidingLog: slidingLog({ name, ...numbers }),
  slidingCounter: slidingCounter({ name, ...numbers }),
  tokenBucket: tokenBucket({ name, capacity: 100, refill: 100, every: '1m' }),
  gcra: gcra({ name, limit: 100, period: '1m' }),
  leakyBucket: leakyBucket({ name, capacity: 100, leak: 100, every: '1m' }),
}

async function takeSlots(limiter: RateLimiter, slots: number): Promise<void> {
  for (let i = 0; i < slots; i += 1) await limiter.consume('192.0.2.1')
}

/** The header, and the wait of a refusal, which is its `t`. */
async function shown({ policy, taken, passedMs }: Row): Promise<string> {
  const { send, limiter, clock } = limitOn({ policy, cost: () => 1 })
  if (policy.algorithm === 'concurrency') await takeSlots(limiter, taken)
  else await limiter.penalty('192.0.2.1', { cost: taken })
  clock.advance(passedMs)
  const response = new FakeResponse()
  await send({}, response)
  const { RateLimit = '', 'Retry-After': wait } = response.headers
  const fields = RateLimit.replace('"p";', '')
  expect(wait).toBe(fields.startsWith('r=0;') ? fields.split('t=')[1] : undefined)
  return `\`${fields}\``
}

const table = [...document.matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (`r=.*?`) \| (`r=.*?`) \|$/gm)]
const rows = table.flatMap(([, names = '', later = '', refused = '']) =>
  names.split(', ').map((each) => [each.slice(1, -1), later, refused] as const),
)

test('the table has all of them', () => {
  expect(rows.map(([maker]) => maker).sort()).toEqual(Object.keys(HUNDRED).sort())
})

test.each(rows)('%s shows %s and %s', async (maker, later, refused) => {
  const policy = HUNDRED[maker] as Policy
  expect(await shown({ policy, taken: 39, passedMs: 15_000 })).toBe(later)
  expect(await shown({ policy, taken: 100, passedMs: 0 })).toBe(refused)
})

test('lock-outs show the attempts that are left, a concurrency the slots', async () => {
  const attempts = lockout({ name, limit: 3, window: '10m', block: ['1m'], forget: '1d' })
  expect(await shown({ policy: attempts, taken: 1, passedMs: 15_000 })).toBe('`r=1;t=585`')
  const slots = concurrency({ name, limit: 5, holdTimeout: '30s' })
  expect(await shown({ policy: slots, taken: 2, passedMs: 15_000 })).toBe('`r=2`')
  expect(await shown({ policy: slots, taken: 5, passedMs: 0 })).toBe('`r=0;t=1`')
})

test.each([
  [slidingWindow({ name, ...numbers }), '100 units at once, 61'],
  [slidingCounter({ name, limit: 10, window: '20s' }), '10 units at once, 22'],
])('a wait longer than w: %o', async (policy, said) => {
  const wait = /t=(\d+)/.exec(await shown({ policy, taken: policy.limit, passedMs: 0 }))?.[1]
  expect(said).toMatch(new RegExp(` ${wait}$`))
  expect(document).toContain(`\`Retry-After: ${wait}\``)
})
