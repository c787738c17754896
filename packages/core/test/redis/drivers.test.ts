// Special cases of the drivers and kernels that random walks rarely or never reach.

import type { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { MAX_UNITS } from '../../src/algorithms/algorithm.js'
import { tokenBucket } from '../../src/algorithms/bucket/policies.js'
import { budget } from '../../src/algorithms/budget/policies.js'
import type { Reading } from '../../src/algorithms/driver.js'
import { fixedWindow } from '../../src/algorithms/fixed-window/policies.js'
import type { Mode } from '../../src/algorithms/modes.js'
import type { Policy } from '../../src/algorithms/policy.js'
import { slidingCounter } from '../../src/algorithms/sliding-counter/policies.js'
import { slidingLog, slidingWindow } from '../../src/algorithms/sliding-log/policies.js'
import { EPOCH_MS } from '../../src/base/clock.js'
import { StoreError } from '../../src/base/errors.js'
import { type PreparedScript, prepareScript } from '../../src/redis/transport/call.js'
import { keyFormat, keysOf } from '../../src/redis/transport/keys.js'
import { makePolicySet } from '../../src/request.js'
import { policyFactories } from '../../src/testing/algorithms.js'
import { singleClient } from './clients.js'
import { Model } from './differential/model.js'
import { drawnOf } from './differential/recipe.js'
import { type Verdict, verdictsOf } from './verdicts.js'

const START_MS = EPOCH_MS + 1_000 * 86_400_000
const client: Redis = singleClient()
let runs = 0

interface Ask {
  readonly mode?: Mode
  readonly atMs?: number
  readonly cost?: number
  readonly untilMs?: number
  readonly seenMs?: number
  readonly lossMs?: number
}

/**
 * One policy and one key in Redis, and its twin in this process. Times are relative to START_MS.
 */
class Twins {
  readonly line: PreparedScript
  readonly #model: Model

  constructor(policy: Policy) {
    runs += 1
    this.line = prepareScript(
      keyFormat(`drivers-${process.pid}-${runs}`),
      makePolicySet('drivers', [policy]),
    )
    this.#model = new Model([[drawnOf(policy)]])
  }

  get key(): string {
    return keysOf(this.line.names, { policySet: this.line.policySet, key: 'k' }, [])[0] as string
  }

  async redis({
    mode = 'consume',
    atMs = 0,
    cost = 1,
    untilMs,
    seenMs = 1e9,
    lossMs,
  }: Ask): Promise<Verdict> {
    const { policySet } = this.line
    const group = {
      policySet,
      key: 'k',
      costs: [cost],
      count: 1,
      untilUs: untilMs === undefined ? undefined : [usOf(untilMs)],
      seenUs: usOf(seenMs),
      lossUs: lossMs === undefined ? undefined : usOf(lossMs),
    }
    const { verdicts } = await verdictsOf(client, this.line, mode, [group], usOf(atMs))
    return verdicts[0] as Verdict
  }

  /** @throws {StoreError} if the key holds a foreign value */
  async reset(atMs: number | undefined): Promise<void> {
    const { policySet } = this.line
    const atUs = atMs === undefined ? undefined : usOf(atMs)
    const request = { policySet, key: 'k', costs: [1], count: 1 }
    const { verdicts } = await verdictsOf(client, this.line, 'reset', [request], atUs)
    if (verdicts[0] instanceof StoreError) throw verdicts[0]
  }

  /** Asks both, which must agree. */
  async ask(ask: Ask): Promise<Reading & { granted: number }> {
    const { mode = 'consume', atMs = 0, cost = 1, untilMs, seenMs, lossMs } = ask
    const untilUs = untilMs === undefined ? undefined : [usOf(untilMs)]
    const seenUs = seenMs === undefined ? undefined : usOf(seenMs)
    const lossUs = lossMs === undefined ? undefined : usOf(lossMs)
    const when = { untilUs, seenUs, lossUs }
    const request = { version: 0, mode, key: 'k', costs: [cost], count: 1, ...when }
    const reply = this.#model.decide(request, usOf(atMs))
    expect(await this.redis(ask)).toEqual(reply)
    return { granted: reply.granted, ...(reply.readings[0] as Reading) }
  }
}

function usOf(ms: number): number {
  return (START_MS + ms) * 1_000
}

const limit = 10
const window = 1_000
const bucketPolicy = tokenBucket({ name: 'p', capacity: limit, refill: limit, every: window })
const policies: readonly Policy[] = [
  bucketPolicy,
  fixedWindow({ name: 'p', limit, window }),
  slidingCounter({ name: 'p', limit, window }),
  slidingLog({ name: 'p', limit, window }),
]
const budgetPolicy = budget({ name: 'p', limit, holdTimeout: '1m' })

test('by the clock of the server, a call leaves out a last number of 0: the window is not aligned', async () => {
  const { line } = new Twins(fixedWindow({ limit: 2, window: '1h' }))
  const group = { policySet: line.policySet, key: 'k', costs: [1], count: 1 }
  const { verdicts } = await verdictsOf(client, line, 'consume', [group], undefined)
  const readings = [{ left: 1, waitMs: 0, resetUs: 3_600_000_000 }]
  expect(verdicts).toEqual([{ granted: 1, readings }])
})

test.each([1, 3])(
  'alone in its call, a request of cost %d is decided without the loop',
  async (cost) => {
    const { line, key } = new Twins(bucketPolicy)
    const rest = cost === 1 ? [] : ['', 'consume', '1', `${cost}`]
    const { script, policyNumbers } = line
    const args = [script.source, '1', key, ...policyNumbers, ...rest]
    const packed = (await client.callBuffer('EVAL', args)) as Buffer
    const numbers = ['now', 'granted', 'left', 'wait', 'reset']
    // Doubles, of eight bytes each.
    expect(packed).toHaveLength(8 * numbers.length)
    expect(packed.readDoubleBE(16)).toBe(limit - cost)
  },
)

describe('values that Weir did not write', () => {
  const far = `${START_MS + 500}`
  const tick = `${START_MS - EPOCH_MS}`
  const most = '1234567890123456'
  /** For each kernel, its values and foreign ones, separated by bars. */
  const entries: [string, string, string][] = [
    [
      'bucket1',
      `0|5|-5|-123456789012345|${most}|-${most}`,
      `|x|-|+5|05|-0|00|5.0|1e3|0x10|inf|nan| 5|5 |5\n|${most}78|-${most}7`,
    ],
    [
      'fixed1',
      `1:1|1:${far}|007:${far}|1125899906842624:${far}|${most}7:${most}`,
      `|1|:|:${far}|1:|-1:${far}|1:${far}:| 1:${far}|1:${far} |1.5:${far}|x:${far}|${most}78:${most}`,
    ],
    [
      'counter1',
      `1:2:3|${START_MS}:0:1|${most}:${most}:${most}`,
      `|1:2|1:2:|:2:3|1::3|1:2:3:4|-1:2:3|1:2:x| 1:2:3|1:2:3 |${most}7:${most}:${most}`,
    ],
    [
      'budget1',
      `${far}:3|${far}:5:${far}:3|${far}:5:${far}:3,${far}:1`,
      `${far}|${far}:3:|:3|${far}:-3|x:3|${far}:5:${far}:|${far}:5:${far}:3x|${far}:5:${far}:3,x`,
    ],
  ]

  test.each(entries)('%s: are recognized by their form', async (kernel, ours, foreign) => {
    const all = [...policies, budgetPolicy]
    const policy = all.find((candidate) => candidate.kernel?.id === kernel) as Policy
    for (const value of ours.split('|')) {
      const twins = new Twins(policy)
      await client.set(twins.key, value, 'PX', 60_000)
      expect(await twins.redis({ mode: 'peek' }), value).toHaveProperty('granted')
    }
    for (const value of foreign.split('|')) {
      const twins = new Twins(policy)
      await client.set(twins.key, value, 'PX', 60_000)
      for (const mode of ['peek', 'consume', 'penalty', 'refund'] as const) {
        expect(await twins.redis({ mode }), `${mode} of '${value}'`).toBeInstanceOf(StoreError)
      }
      expect(await client.get(twins.key)).toBe(value)
    }
  })

  test('log1: are recognized by their entries', async () => {
    const ours = [`${tick}:1:1`, `${most}:1:${most}`, `1:1:${'1'.repeat(48)}`]
    const wrong = `|x|${tick}|${tick}:1|${tick}:1:|:1:1|-${tick}:1:1|${tick}:1:1:1| ${tick}:1:1`
    const foreign = [...wrong.split('|'), `1:1:${'1'.repeat(49)}`]
    for (const value of ours) {
      const twins = new Twins(slidingLog({ name: 'p', limit, window }))
      await client.rpush(twins.key, value)
      await client.pexpire(twins.key, 60_000)
      expect(await twins.redis({ mode: 'peek' }), value).toHaveProperty('granted')
    }
    for (const value of foreign) {
      // As the last entry, as the first one, and on the path of a search.
      for (const place of [0, 1, 2]) {
        const twins = new Twins(slidingLog({ name: 'p', limit, window }))
        const list = ['0:1:1', `${tick}:1:2`, `${tick}:1:3`]
        list[2 - place] = value
        await client.rpush(twins.key, ...list)
        await client.pexpire(twins.key, 60_000)
        expect(await twins.redis({}), `'${value}' in place ${2 - place}`).toBeInstanceOf(StoreError)
        expect(await client.lrange(twins.key, 0, -1)).toEqual(list)
      }
    }
  })

  test.each(Object.values(policyFactories).map(({ of }) => of(limit, '1m')))(
    'fail no other request of their call: $name',
    async (policy) => {
      const { line, key: foreign } = new Twins(policy)
      await client.set(foreign, 'x', 'PX', 60_000)
      const groups = ['a', 'k', 'b'].map((key) => {
        return { policySet: line.policySet, key, costs: [1], count: 1 }
      })
      const { verdicts } = await verdictsOf(client, line, 'consume', groups, usOf(0))
      const granted = { granted: 1, readings: [{ left: limit - 1 }] }
      expect(verdicts).toMatchObject([granted, { code: 'WEIR_FOREIGN_KEY' }, granted])
      expect(await client.get(foreign)).toBe('x')
    },
  )

  test.each(policies)('of another type are left alone: $algorithm', async (policy) => {
    const twins = new Twins(policy)
    await client.hset(twins.key, 'a', 1)
    await client.pexpire(twins.key, 60_000)
    expect(await twins.redis({})).toMatchObject({ code: 'WEIR_FOREIGN_KEY' })
    await expect(twins.reset(undefined)).rejects.toMatchObject({ code: 'WEIR_FOREIGN_KEY' })
    expect(await client.type(twins.key)).toBe('hash')
  })
})

describe('huge counts', () => {
  test.each(policies)('saturate: $algorithm', async (policy) => {
    const twins = new Twins(policy)
    for (const cost of [MAX_UNITS - 1, 1, 1, Number.MAX_SAFE_INTEGER, 7]) {
      await twins.ask({ mode: 'penalty', cost })
      await twins.ask({ mode: 'refund', cost: 3 })
      await twins.ask({ mode: 'reconcile', cost, untilMs: 2 * window })
      await twins.ask({ mode: 'restore', cost, untilMs: window })
      expect((await twins.ask({ mode: 'peek' })).left).toBe(0)
    }
    // The exact point of saturation shows when most of it is given back.
    await twins.ask({ mode: 'refund', cost: MAX_UNITS - limit + 3 })
    for (const cost of [1, 2, 3, 4, MAX_UNITS]) {
      await twins.ask({ mode: 'peek' })
      await twins.ask({ mode: 'refund', cost })
    }
  })

  test('in a log saturate when some of them were lost and are restored', async () => {
    const twins = new Twins(slidingLog({ name: 'p', limit, window }))
    await twins.ask({ atMs: 500 })
    await twins.ask({ mode: 'restore', cost: MAX_UNITS, untilMs: 1_200, atMs: 600 })
    const back: Ask = { mode: 'refund', cost: MAX_UNITS - 3, atMs: 600 }
    expect(await twins.ask(back)).toMatchObject({ left: limit - 3 })
  })

  test('in a log continue when their sums wrap around', async () => {
    const twins = new Twins(slidingLog({ name: 'p', limit: 2 ** 20, window }))
    const sums: number[] = []
    for (let i = 0; i < 12; i += 1) {
      const { left } = await twins.ask({ mode: 'penalty', cost: MAX_UNITS - 2, atMs: i * 700 })
      expect(left).toBe(0)
      const [last] = await client.lrange(twins.key, -1, -1)
      sums.push(Number(last?.split(':')[2]))
      await twins.ask({ mode: 'refund', cost: MAX_UNITS - 4, atMs: i * 700 + 1 })
      expect((await twins.ask({ mode: 'peek', atMs: i * 700 + 2 })).left).toBeGreaterThan(
        2 ** 20 - 20,
      )
    }
    expect(Math.max(...sums)).toBeLessThan(2 * MAX_UNITS)
    expect(sums.filter((sum, i) => sum < (sums[i - 1] ?? 0)).length).toBeGreaterThan(3)
  })

  test.each([1, 30])(
    'in a log are right near that point, with sub-windows of %d ms',
    async (part) => {
      const coarse = slidingWindow({ name: 'p', limit, window: 33 * part, parts: 33 })
      const twins = new Twins(part === 1 ? slidingLog({ name: 'p', limit, window }) : coarse)
      await twins.ask({ mode: 'penalty', cost: MAX_UNITS - 1 })
      await twins.ask({ mode: 'refund', cost: MAX_UNITS - 2 })
      await twins.ask({ mode: 'penalty', cost: MAX_UNITS - 9 })
      await twins.ask({ mode: 'refund', cost: MAX_UNITS - 9 })
      for (let i = 1; i < 60; i += 1) {
        const atMs = i * 37
        const cost = 1 + ((i * 7) % 4)
        await twins.ask({ atMs, cost })
        await twins.ask({ mode: 'peek', atMs, cost: 1 + (i % limit) })
        if (i % 5 === 0) await twins.ask({ mode: 'refund', atMs, cost: 1 + (i % 3) })
        if (i % 9 === 0) await twins.ask({ mode: 'restore', atMs, cost: 2, untilMs: atMs + 20 })
        if (i % 9 === 4) await twins.ask({ mode: 'reconcile', atMs, cost: 2, untilMs: atMs + 500 })
      }
      for (const entry of await client.lrange(twins.key, 0, -1))
        expect(entry).toMatch(/^\d+:\d+:\d+$/)
    },
  )
})

test.each([
  tokenBucket({ name: 'p', capacity: 100, refill: 100, every: 100_000 }),
  fixedWindow({ name: 'p', limit: 100, window: 100_000 }),
])(
  'after a loss, a process whose units have expired counts its own, and another one adds what it has seen: $algorithm',
  async (policy) => {
    const twins = new Twins(policy)
    const atMs = 5_000
    const seen = { mode: 'restore', atMs, lossMs: 2_000 } as const
    // The first one has seen a unit that counted until 3,000, and has admitted 30.
    await twins.ask({ ...seen, cost: 1, untilMs: 3_000, seenMs: 2_000 })
    await twins.ask({ mode: 'reconcile', atMs, cost: 30, untilMs: 90_000 })
    // The second one has seen 40, of which all count for the time being.
    await twins.ask({
      ...seen,
      cost: 40,
      untilMs: policy.kernel?.traits.drains ? 45_000 : 100_000,
      seenMs: 2_100,
    })
    expect(await twins.ask({ mode: 'peek', atMs })).toMatchObject({ left: 30 })
  },
)

describe('a counter that is intact', () => {
  const counter = slidingCounter({ name: 'p', limit: 100, window })

  test('is not changed by a restore of what was seen of it', async () => {
    const twins = new Twins(counter)
    await twins.ask({ atMs: 500, cost: 90 })
    // 1,100: 81 of the 90 still weigh, and with these ten all but nine are in use; until the end of
    // the next window.
    expect(await twins.ask({ atMs: 1_100, cost: 10 })).toMatchObject({ left: 9 })
    const seen: Ask = { mode: 'restore', cost: 91, untilMs: 3_000, seenMs: 1_100, lossMs: 1_100 }
    for (const atMs of [1_100, 1_500, 1_999]) {
      const { left } = await twins.ask({ mode: 'peek', atMs })
      expect(await twins.ask({ ...seen, atMs })).toMatchObject({ granted: 0, left })
    }
    expect(await twins.ask({ mode: 'peek', atMs: 1_600 })).toMatchObject({ left: 54 })
    // In the next window, ten of them weigh.
    expect(await twins.ask({ ...seen, atMs: 2_000 })).toMatchObject({ granted: 0, left: 90 })
  })

  test('and one that is not then has what was seen, once, in the window in which it was seen and in the next', async () => {
    const twins = new Twins(counter)
    const seen: Ask = { mode: 'restore', cost: 91, untilMs: 3_000 }
    await twins.ask({ atMs: 1_200, cost: 3 })
    expect(await twins.ask({ ...seen, atMs: 1_200 })).toMatchObject({ granted: 1, left: 9 })
    expect(await twins.ask({ ...seen, atMs: 1_200 })).toMatchObject({ granted: 0, left: 9 })
    const late = new Twins(counter)
    await late.ask({ atMs: 2_500, cost: 3 })
    expect(await late.ask({ ...seen, atMs: 2_500 })).toMatchObject({ granted: 1, left: 51 })
    expect(await late.ask({ ...seen, atMs: 2_600 })).toMatchObject({ granted: 0, left: 60 })
  })
})

describe('a receipt of a bucket', () => {
  test('gives back no more than what has not come back by itself, even after an earlier refund', async () => {
    const twins = new Twins(bucketPolicy)
    // Two penalties at one instant, of ten units each: the second one counts until 2,000, according
    // to its receipt.
    await twins.ask({ mode: 'penalty', cost: 10 })
    await twins.ask({ mode: 'penalty', cost: 10 })
    // The first one is refunded, so the second one is over at 1,000.
    expect(await twins.ask({ mode: 'refund', cost: 10, untilMs: 1_000, seenMs: 0 })).toMatchObject({
      resetUs: 1_000_000,
    })
    expect(await twins.ask({ atMs: 1_000, cost: 10 })).toMatchObject({ granted: 1, left: 0 })
    const second: Ask = { mode: 'refund', cost: 10, untilMs: 2_000, seenMs: 0 }
    expect(await twins.ask({ ...second, atMs: 1_000 })).toMatchObject({
      left: 0,
      resetUs: 1_000_000,
    })
  })

  test('gives back less the longer it takes, if another one was given back since', async () => {
    for (const [atMs, left] of [
      [0, 6],
      [100, 6],
      [250, 6],
      [300, 6],
      [500, 8],
    ] as const) {
      const twins = new Twins(bucketPolicy)
      await twins.ask({ cost: 5 })
      await twins.ask({ mode: 'refund', cost: 1, untilMs: 500, seenMs: 0 })
      await twins.ask({ cost: 3 })
      const refund: Ask = { mode: 'refund', cost: 3, untilMs: 800, seenMs: 0 }
      expect(await twins.ask({ ...refund, atMs })).toMatchObject({ left })
    }
  })
})

describe('a log whose last entry is at the edge of the values that stay as they are', () => {
  const now = START_MS - EPOCH_MS
  const round = 2 * MAX_UNITS

  test.each([
    [
      'the sum before the last',
      [`${now - 5}:3:${round - 2}`],
      [`${now - 5}:3:${round - 2}`, `${now}:1:${round - 1}`],
    ],
    [
      'the last sum, after which they begin anew',
      [`${now - 5}:3:${round - 1}`],
      [`${now - 5}:3:${round - 1}`, `${now}:1:0`],
    ],
    [
      'a tick as far ahead as a clock may be behind',
      [`${now + window}:3:3`],
      [`${now + window}:4:4`],
    ],
    ['a tick that is further ahead', [`${now + window + 1}:3:3`], [`${now}:4:4`]],
  ])('%s', async (_, before, after) => {
    const twins = new Twins(slidingLog({ name: 'p', limit, window }))
    await client.rpush(twins.key, ...before)
    await client.pexpire(twins.key, 60_000)
    expect(await twins.redis({})).toMatchObject({ granted: 1, readings: [{ left: limit - 4 }] })
    expect(await client.lrange(twins.key, 0, -1)).toEqual(after)
  })
})

describe('a log with a foreign entry in its middle', () => {
  async function corruptLog(length: number): Promise<Twins> {
    const twins = new Twins(slidingLog({ name: 'p', limit, window }))
    for (let i = 0; i < length; i += 1) await twins.redis({ mode: 'penalty', atMs: i })
    for (let i = 1; i < length - 1; i += 1) await client.lset(twins.key, i, 'junk')
    return twins
  }

  test.each([
    ['a refund failed with its whole call', { mode: 'refund', cost: 3, atMs: 10 }, limit - 1],
    ['a wait was guessed', { cost: limit - 2, atMs: 10 }, limit - 1],
    ['a wait of a plain request was guessed', { atMs: 20 }, limit + 3],
  ] as const)('%s', async (_, ask, length) => {
    const twins = await corruptLog(length)
    const before = await client.lrange(twins.key, 0, -1)
    expect(await twins.redis(ask)).toMatchObject({ code: 'WEIR_FOREIGN_KEY' })
    expect(await client.lrange(twins.key, 0, -1)).toEqual(before)
  })
})

describe('a mark', () => {
  test.each(policies)(
    'stays as it is when a refund is too late and a $algorithm is healed, after the clock has stepped back',
    async (policy) => {
      const twins = new Twins(policy)
      await twins.ask({ atMs: 9_000, cost: 3 })
      await twins.ask({ mode: 'refund', atMs: 9_000, untilMs: 10_000, seenMs: 8_999 })
      await twins.ask({ mode: 'refund', atMs: 5_000, untilMs: 4_999, seenMs: 4_000 })
      await twins.ask({ mode: 'restore', atMs: 5_000, cost: 7, untilMs: 5_500, seenMs: 6_000 })
      await twins.ask({ mode: 'peek', atMs: 5_000 })
    },
  )

  const policy = fixedWindow({ name: 'p', limit, window })
  const raise = { mode: 'restore', cost: 4, untilMs: 900, atMs: 500 } as const

  async function leftAfter(twins: Twins, ask: Ask): Promise<number> {
    const verdict = await twins.redis(ask)
    if (verdict instanceof StoreError) throw verdict
    return verdict.readings[0]?.left as number
  }

  test('of a reset keeps what was forgotten from being restored', async () => {
    const twins = new Twins(policy)
    await twins.redis({ cost: 4, atMs: 100 })
    await twins.reset(200)
    expect(await leftAfter(twins, { ...raise, seenMs: 199 })).toBe(limit)
    // In between, the clock may have stepped back by 100 ms.
    expect(await leftAfter(twins, { ...raise, seenMs: 300 })).toBe(limit)
    expect(await client.exists(twins.key)).toBe(0)
    expect(await leftAfter(twins, { ...raise, seenMs: 301 })).toBe(limit - 4)
  })

  test('of a refund of everything does so as well', async () => {
    const twins = new Twins(policy)
    await twins.redis({ cost: 4, atMs: 100 })
    await twins.redis({ mode: 'refund', cost: 4, atMs: 200 })
    expect(await client.exists(twins.key)).toBe(0)
    expect(await leftAfter(twins, { ...raise, seenMs: 300 })).toBe(limit)
    expect(await leftAfter(twins, { ...raise, seenMs: 301 })).toBe(limit - 4)
  })

  test('outlives the key that it belongs to, and a minute', async () => {
    for (const [every, least] of [
      ['1s', 60_000],
      ['1d', 86_400_000],
    ] as const) {
      const twins = new Twins(fixedWindow({ name: 'p', limit, window: every }))
      await twins.redis({})
      await twins.reset(undefined)
      const ttl = await client.pttl(`${twins.key}:mark`)
      expect(ttl).toBeGreaterThan(least - 900)
      expect(ttl).toBeLessThanOrEqual(least + 602_000)
    }
  })

  test.each(['', 'x', '-'])('that is foreign (%j) prevents nothing', async (value) => {
    const twins = new Twins(policy)
    await client.set(`${twins.key}:mark`, value, 'PX', 60_000)
    expect(await leftAfter(twins, { ...raise, seenMs: 1 })).toBe(limit - 4)
  })

  test('of a partial refund keeps what was seen before it from being restored, as long as that counts', async () => {
    const twins = new Twins(policy)
    await twins.redis({ cost: 4, atMs: 100 })
    await twins.redis({ mode: 'refund', cost: 3, atMs: 200 })
    expect(await leftAfter(twins, { ...raise, seenMs: 200 })).toBe(limit - 1)
    expect(await client.pttl(`${twins.key}:mark`)).toBeGreaterThan(595_000)
    await twins.redis({ mode: 'refund', cost: 1, atMs: 300 })
    expect(await client.pttl(`${twins.key}:mark`)).toBeGreaterThan(655_000)
    expect(await leftAfter(twins, { ...raise, seenMs: 400 })).toBe(limit)
    // A microsecond later.
    expect(await leftAfter(twins, { ...raise, seenMs: 400.001 })).toBe(limit - 4)
  })

  test('lives as long as what was in use before would have counted, however little is left', async () => {
    const twins = new Twins(tokenBucket({ name: 'p', capacity: 10, refill: 10, every: '100s' }))
    const lifeMs = async () => (await client.pttl(`${twins.key}:mark`)) - 600_000
    await twins.redis({ cost: 9 })
    for (const cost of [7, 1]) {
      await twins.redis({ mode: 'refund', cost })
      expect(await lifeMs()).toBeGreaterThan(90_000)
      expect(await lifeMs()).toBeLessThanOrEqual(91_000)
    }
  })

  test('of another type prevents nothing', async () => {
    const twins = new Twins(policy)
    await client.rpush(`${twins.key}:mark`, '9007199254740991')
    await client.pexpire(`${twins.key}:mark`, 60_000)
    expect(await leftAfter(twins, { ...raise, seenMs: 1 })).toBe(limit - 4)
  })
})
