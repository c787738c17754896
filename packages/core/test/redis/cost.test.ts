// What a decision costs the server in commands, and what a key costs it in bytes. `pnpm figures`
// measures times, which depend on the machine; these numbers do not.

import { describe, expect, test } from 'vitest'
import { counterOf, type Policy } from '../../src/algorithms/policy.js'
import { slidingLog } from '../../src/algorithms/sliding-log/policies.js'
import { RateLimiter } from '../../src/limiter/limiter.js'
import { policyFactories } from '../../src/testing/algorithms.js'
import { type FakeClock, fakeClock } from '../../src/testing/clock.js'
import { ownRedis } from './own.js'
import { stillStore } from './patient.js'
import { callsOf } from './stats.js'

const { server, client } = await ownRedis()

const KEY = 'u'
const subjects = Object.values(policyFactories).map(({ of, cost }) => ({
  ...cost,
  policy: of(100, '1m', 'p'),
}))

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
    // Not at an instant where a sub-window ends.
    clock.advance(1)
    expect(await commandsOf(() => limiter.consume(KEY)), 'first').toBe(first)
    clock.advance(1)
    expect(await commandsOf(() => limiter.consume(KEY)), 'next').toBe(next)
    expect(await commandsOf(() => limiter.peek(KEY)), 'peek').toBe(peek)
    while ((await limiter.consume(KEY)).allowed);
    expect(await commandsOf(() => limiter.consume(KEY)), 'denied').toBe(denied)
  })

  test('commands of a call that decides for several keys', async () => {
    const clock = fakeClock()
    const [limiter] = limiterFor(policy, clock)
    while ((await limiter.consume('denied')).allowed);
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
    const usage = Number(await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'))
    expect(usage).toBeLessThanOrEqual(bytes)
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

  test('of 10,000 requests costs at most 25 bytes for each, and as many commands as one of 10', async () => {
    const commands = []
    let bytes = 0
    for (const most of [10, 10_000]) {
      const { limiter, key, clock } = await fullLog(most)
      expect(await client.llen(key)).toBe(most)
      bytes = Number(await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'))
      const denied = await commandsOf(() => limiter.consume(KEY))
      clock.advance(10)
      commands.push([denied, await commandsOf(() => limiter.consume(KEY))])
      if (most === 10) continue
      // Most have expired, and few of those are looked at.
      clock.advance(99_000)
      const calls = await commandsOf(() => limiter.consume(KEY))
      expect(Number(/(\d+) lindex/.exec(calls)?.[1])).toBeLessThan(30)
    }
    expect(bytes / 10_000).toBeLessThanOrEqual(25)
    expect(commands[1]).toEqual(commands[0])
  })
})
