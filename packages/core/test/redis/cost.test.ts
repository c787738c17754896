// What a decision costs the server in commands, and what a key costs it in bytes. `pnpm figures`
// measures times, which depend on the machine; these numbers do not.

import { type RedisServer, startRedis } from '@weir/testkit'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tokenBucket } from '../../src/algorithms/bucket/policies.js'
import { fixedWindow } from '../../src/algorithms/fixed-window/policies.js'
import { counterOf, type Policy } from '../../src/algorithms/policy.js'
import { slidingCounter } from '../../src/algorithms/sliding-counter/policies.js'
import { slidingLog, slidingWindow } from '../../src/algorithms/sliding-log/policies.js'
import { RateLimiter } from '../../src/limiter/limiter.js'
import { type FakeClock, fakeClock } from '../../src/testing/clock.js'
import { patientClient, stillStore } from './patient.js'
import { callsOf } from './stats.js'

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = await patientClient(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const KEY = 'u'
const limit = 3
const window = '1m'

interface Target {
  readonly policy: Policy
  /** The commands of the first decision on a key, of later ones, of a denied one, and of a peek. */
  readonly first: string
  readonly next: string
  readonly denied: string
  readonly peek: string
  /** The most bytes of a key with a name of 24 bytes; with one entry if it has entries. */
  readonly bytes: number
}

const subjects: readonly Target[] = [
  {
    // The bytes depend on the TAT's cell of 8.192 s: at first 4.072 s into one, then 5.073 s.
    policy: tokenBucket({ name: 'p', capacity: limit, refill: 1, every: '1s' }),
    first: 'get set',
    next: 'get incrby',
    denied: 'get',
    peek: 'get',
    bytes: 72,
  },
  {
    policy: fixedWindow({ name: 'p', limit, window }),
    first: 'get set',
    next: 'get set',
    denied: 'get',
    peek: 'get',
    bytes: 104,
  },
  {
    policy: slidingCounter({ name: 'p', limit, window }),
    first: 'get set',
    next: 'get set',
    denied: 'get',
    peek: 'get',
    bytes: 104,
  },
  {
    policy: slidingLog({ name: 'p', limit, window }),
    first: 'lindex pexpire rpush',
    next: '2 lindex rpush',
    denied: '2 lindex',
    peek: '2 lindex',
    bytes: 184,
  },
  {
    policy: slidingWindow({ name: 'p', limit: 2 * limit, window, parts: 2 }),
    first: 'lindex pexpire rpush',
    next: '2 lindex lset',
    denied: '2 lindex',
    peek: '2 lindex',
    bytes: 184,
  },
]

let runs = 0
function limiterFor(policy: Policy, clock?: FakeClock): [limiter: RateLimiter, key: string] {
  runs += 1
  // Names of 24 bytes, whatever the kernel.
  const rest = `:{${KEY}}:a:p:${counterOf(policy)}`
  const prefix = `${runs}`.padStart(24 - rest.length, '0')
  const store = stillStore(client, clock === undefined ? { prefix } : { prefix, clock })
  const limiter = new RateLimiter({ name: 'a', store, policy })
  return [limiter, prefix + rest]
}

/** The commands that the server runs for a decision, in addition to the one EVALSHA. */
async function commandsOf(decide: () => Promise<unknown>): Promise<string> {
  await server.command('CONFIG', 'RESETSTAT')
  await decide()
  const { evalsha, eval: evals, 'config|resetstat': _, info: __, ...calls } = await callsOf(server)
  expect(evalsha).toBe(1)
  expect(evals).toBeUndefined()
  return textOf(calls)
}

function textOf(calls: Readonly<Record<string, number>>): string {
  const names = Object.keys(calls).sort()
  return names.map((name) => (calls[name] === 1 ? name : `${calls[name]} ${name}`)).join(' ')
}

function sumOf(texts: readonly string[]): string {
  const calls: Record<string, number> = {}
  for (const [, times = '1', name] of texts.join(' ').matchAll(/(?:(\d+) )?([a-z]+)/g)) {
    calls[name as string] = (calls[name as string] ?? 0) + Number(times)
  }
  return textOf(calls)
}

describe.each(subjects)('$policy.algorithm', ({ policy, first, next, denied, peek, bytes }) => {
  test('commands of a decision', async () => {
    const clock = fakeClock()
    const [limiter] = limiterFor(policy, clock)
    await limiter.peek('loads the script')
    expect(await commandsOf(() => limiter.consume(KEY)), 'first').toBe(first)
    clock.advance(1)
    expect(await commandsOf(() => limiter.consume(KEY)), 'next').toBe(next)
    expect(await commandsOf(() => limiter.peek(KEY)), 'peek').toBe(peek)
    while ((await limiter.consume(KEY)).allowed) clock.advance(1)
    expect(await commandsOf(() => limiter.consume(KEY)), 'denied').toBe(denied)
  })

  test('commands of a call that decides for several keys', async () => {
    const clock = fakeClock()
    const [limiter] = limiterFor(policy, clock)
    await limiter.penalty('denied', { cost: policy.limit })
    expect(
      await commandsOf(() => Promise.all(['a', 'denied', 'b'].map((key) => limiter.consume(key)))),
    ).toBe(sumOf([first, denied, first]))
  })

  test('the server is asked for the time once', async () => {
    const [limiter] = limiterFor(policy)
    await limiter.peek('loads the script')
    expect(await commandsOf(() => limiter.consume(KEY))).toBe(`${first} time`)
  })

  test('bytes of a key', async () => {
    const [limiter, key] = limiterFor(policy)
    await limiter.consume(KEY)
    expect(Number(await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'))).toBeLessThanOrEqual(
      bytes,
    )
  })
})

describe('an exact log', () => {
  /** A full log with an entry each millisecond, and a clock at which the oldest is about to
   *  expire. */
  async function fullLog(
    most: number,
  ): Promise<{ limiter: RateLimiter; key: string; clock: FakeClock }> {
    const clock = fakeClock()
    const [limiter, key] = limiterFor(
      slidingLog({ name: 'p', limit: most, window: 10 * most }),
      clock,
    )
    const taken: Promise<unknown>[] = []
    for (let i = 0; i < most; i += 1) {
      clock.advance(10)
      taken.push(limiter.consume(KEY))
    }
    await Promise.all(taken)
    return { limiter, key, clock }
  }

  test('of 10,000 requests costs at most 25 bytes for each', async () => {
    const { key } = await fullLog(10_000)
    expect(await client.llen(key)).toBe(10_000)
    const bytes = Number(await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'))
    expect(bytes / 10_000).toBeLessThanOrEqual(25)
  })

  test('costs as many commands at a limit of 10,000 as at 10', async () => {
    const commands = []
    for (const most of [10, 10_000]) {
      const { limiter, clock } = await fullLog(most)
      const denied = await commandsOf(() => limiter.consume(KEY))
      clock.advance(10)
      commands.push([denied, await commandsOf(() => limiter.consume(KEY))])
    }
    expect(commands[1]).toEqual(commands[0])
  })

  test('looks at few entries when most have expired', async () => {
    const { limiter, clock } = await fullLog(10_000)
    clock.advance(99_000)
    const calls = await commandsOf(() => limiter.consume(KEY))
    expect(Number(/(\d+) lindex/.exec(calls)?.[1])).toBeLessThan(30)
  })
})
