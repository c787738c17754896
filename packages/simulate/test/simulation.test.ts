import { fixedWindow, lockout, type Policy, slidingLog, unlimited } from '@weir/core'
import { describe, expect, test, vi } from 'vitest'
import { START_US } from './log-lines.js'
import { at, EXACT_US, first, S, simulate } from './simulate.js'

const policies = slidingLog({ limit: 2, window: '10s' })

describe('a report', () => {
  test('says which keys were refused, when, how often, and for how long', () => {
    const lines = [
      ...at([0, 1, 2, 3, 11, 12.5, 13, 40], { ip: '192.0.2.1' }),
      ...at([50, 51], { ip: '192.0.2.2' }),
    ]
    const report = simulate({ policies }, lines)
    expect(report).toMatchObject({ entries: 10, isCoarse: false, firstUs: EXACT_US, sample: 1 })
    const { requests, keys, run } = first(report)
    expect([requests, keys, run.refused, run.affected]).toEqual([10, 2, 3, 1])
    expect(run.refusedShare).toEqual({ share: 0.3 })
    expect(run.affectedShare).toEqual({ share: 0.5 })
    expect(run.mostAffected).toEqual([
      {
        key: '192.0.2.1',
        requests: 8,
        refused: 3,
        firstRefusedUs: EXACT_US + 2 * S,
        lastRefusedUs: EXACT_US + 13 * S,
        // From 2 s to 10 s, and from 13 s to 21 s, when the waits were over.
        refusedMs: 8_000 + 8_000,
      },
    ])
  })

  describe('does not call it refused when a key', () => {
    const refusedMs = (seconds: readonly number[], policy: Policy = policies): number | undefined =>
      first(simulate({ policies: policy }, at(seconds))).run.mostAffected[0]?.refusedMs

    test('stays away for an hour after the refusal, and then passes, or never comes back', () => {
      expect(refusedMs([0, 1, 2, 3_600])).toBe(8_000)
      expect(refusedMs([0, 1, 2])).toBe(8_000)
    })

    const costs = (all: readonly (readonly [second: number, cost: number])[]) => {
      const lines = all.flatMap(([second, cost]) => at([second], { status: 200 + cost }))
      const api = { policy: policies, cost: ({ status = 200 }) => status - 200 }
      return first(simulate({ policies: { api } }, lines)).run.mostAffected[0]?.refusedMs
    }

    test('passes before the wait is over, as its next request is smaller', () => {
      // The large one would have passed at 10 s.
      expect(
        costs([
          [0, 1],
          [1, 2],
          [4, 1],
        ]),
      ).toBe(3_000)
    })

    test('is refused, stays away for an hour, and is refused for another reason', () => {
      expect(
        costs([
          [0, 1],
          [1, 2],
          [3_600, 5],
          [7_200, 1],
        ]),
      ).toBe(9_000)
    })

    test('can never pass: it is refused from its first refusal to its last', () => {
      expect(refusedMs([0, 60, 3_600], slidingLog({ limit: 0, window: '10s' }))).toBe(3_600_000)
      expect(refusedMs([60], slidingLog({ limit: 0, window: '10s' }))).toBe(0)
    })
  })

  test('has what each policy passed and refused, and the most in any window', () => {
    const input = [
      slidingLog({ name: 'short', limit: 2, window: '10s' }),
      slidingLog({ name: 'long', limit: 3, window: '1m' }),
    ]
    const { run } = first(simulate({ policies: input }, at([0, 1, 2, 11, 25])))
    const [short, long] = run.policies
    expect(short).toMatchObject({ policy: 'short', units: 3, refusals: 1, shareOfRefusals: 0.5 })
    expect(long).toMatchObject({ policy: 'long', units: 3, refusals: 1, refusedUnits: 1 })
    expect(short?.mostInWindow).toMatchObject({
      units: 2,
      bound: 2,
      windowMs: 10_000,
      keysLeftOut: 0,
    })
    expect(long?.mostInWindow).toMatchObject({
      units: 3,
      bound: 3,
      key: '203.0.113.7',
      atUs: START_US + 11 * S,
    })
  })

  test('has the ten keys with the most refusals, equals in the order of the log', () => {
    const lines = Array.from({ length: 14 }, (_, i) =>
      at(
        Array.from({ length: 3 + (i === 13 ? 5 : i % 2) }, (_, j) => i * 20 + j / 10),
        {
          ip: `192.0.2.${i}`,
        },
      ),
    ).flat()
    const { run } = first(simulate({ policies }, lines))
    const expected = [13, 1, 3, 5, 7, 9, 11, 0, 2, 4].map((i) => `192.0.2.${i}`)
    expect(run.mostAffected.map(({ key }) => key)).toEqual(expected)
    expect(run.affected).toBe(14)
  })

  test('has requests and refusals over time, in at most 240 steps, to the request', () => {
    const lines = Array.from({ length: 3_000 }, (_, i) => at([i / 2])).flat()
    const { run } = first(simulate({ policies: slidingLog({ limit: 1, window: '1s' }) }, lines))
    expect(run.steps.length).toBeLessThanOrEqual(240)
    expect(run.steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(3_000)
    expect(run.steps.reduce((sum, { refused }) => sum + refused, 0)).toBe(run.refused)
    expect(run.refused).toBe(1_500)
    expect(run.steps[1]).toEqual({ fromUs: START_US + 8 * S, requests: 16, refused: 8 })
  })

  test('of an empty log is empty', () => {
    const report = simulate({ policies }, [])
    expect(report).toMatchObject({ entries: 0, firstUs: undefined, isCoarse: false })
    expect(first(report)).toMatchObject({ requests: 0, keys: 0, run: { refused: 0, affected: 0 } })
  })
})

describe('limiters', () => {
  test('may be several, each with its key, cost and skip', () => {
    const lines = [
      ...at([0, 1, 2], { user: 'ann', request: 'POST /a HTTP/1.1' }),
      ...at([3, 4], { request: 'GET /b HTTP/1.1' }),
    ]
    const { limiters } = simulate(
      {
        policies: {
          all: slidingLog({ limit: 4, window: '1m' }),
          users: {
            policy: [slidingLog({ limit: 5, window: '1m' })],
            key: ({ user }) => user,
            cost: ({ method }) => (method === 'POST' ? 3 : 1),
          },
          posts: { policy: unlimited(), skip: ({ method }) => method !== 'POST' },
        },
      },
      lines,
    )
    expect(
      limiters.map(({ limiter, requests, skipped, withoutKey, keys }) => ({
        limiter,
        requests,
        skipped,
        withoutKey,
        keys,
      })),
    ).toEqual([
      { limiter: 'all', requests: 5, skipped: 0, withoutKey: 0, keys: 1 },
      { limiter: 'users', requests: 3, skipped: 0, withoutKey: 2, keys: 1 },
      { limiter: 'posts', requests: 3, skipped: 2, withoutKey: 0, keys: 1 },
    ])
    expect(limiters.map(({ runs }) => runs[0]?.refused)).toEqual([1, 2, 0])
  })

  test('an IPv6 client is its network of 56 bits, as in the middlewares', () => {
    const ips = ['2001:db8:0:1::1', '2001:db8:0:2::2', '2001:db8:0:100::1', '::ffff:192.0.2.1']
    const report = simulate(
      { policies },
      ips.flatMap((ip) => at([0], { ip })),
    )
    expect(first(report).keys).toBe(3)
  })

  test('a policy by a function of the key, with a policy key', () => {
    const total = slidingLog({ name: 'total', limit: 3, window: '1m' })
    const own = (limit: number) => slidingLog({ name: 'own', limit, window: '1m' })
    const policy = (key: string) => [own(key === 'ann' ? 9 : 1), { policy: total, key: 'all' }]
    const lines = [...at([0, 1], { user: 'ann' }), ...at([2, 3, 4], { user: 'bob' })]
    const report = simulate({ policies: { api: { policy } }, key: 'user' }, [
      ...lines,
      ...at([5], { user: 'ann' }),
    ])
    const { run } = first(report)
    expect(run.policies.map(({ policy: name, refusals }) => [name, refusals])).toEqual([
      ['own', 2],
      ['total', 1],
    ])
    expect(run.policies[1]?.mostInWindow).toMatchObject({ units: 3, key: 'all', bound: 3 })
  })

  test('a class leaves to others what its limiter reserves', () => {
    const input = {
      policy: slidingLog({ limit: 4, window: '1m' }),
      reserve: { batch: 0.5 },
      priority: ({ user }: { user: string | undefined }) => (user === 'ann' ? undefined : 'batch'),
    }
    const lines = [...at([0, 1, 2], { user: 'bob' }), ...at([3, 4], { user: 'ann' })]
    const { run } = first(simulate({ policies: { api: input } }, lines))
    expect(run.refused).toBe(1)
  })

  test('a lock-out counts each entry as an attempt, and then blocks', () => {
    const block = lockout({ limit: 2, window: '1m', block: ['10s', '1m'], forget: '1h' })
    const { run } = first(simulate({ policies: block }, at([0, 1, 5, 12, 13, 14, 60, 80])))
    // The second attempt begins a block of 10 s, and the fourth one of a minute.
    expect(run.refused).toBe(3)
  })

  test('an invalid cost is counted as such, and not decided', () => {
    const cost = vi.fn().mockReturnValueOnce(1.5).mockReturnValueOnce(-1).mockReturnValue(2)
    const report = simulate({ policies: { api: { policy: policies, cost } } }, at([0, 1, 2]))
    expect(first(report)).toMatchObject({ requests: 1, withoutCost: 2 })
  })

  test('a month in a time zone ends at its midnight, and the most is measured in each', () => {
    const month = fixedWindow({ limit: 2, window: 'month', timeZone: 'America/New_York' })
    const startUs = Date.UTC(2026, 10, 1, 3, 59, 59) * 1_000 + 1
    const lines = [0, 0, 0, 2, 2, 2].map((second) => ({ timeUs: startUs + second * S }))
    const { run } = first(simulate({ policies: month }, lines))
    expect(run.refused).toBe(2)
    expect(run.policies[0]?.mostInWindow).toMatchObject({ units: 2, bound: 2, windowMs: undefined })
  })
})

describe('keys', () => {
  const lines = Array.from({ length: 300 }, (_, i) =>
    at([i / 100], { ip: `10.0.0.${i % 100}` }),
  ).flat()

  test('that fit into the room are simulated exactly', () => {
    const whole = simulate({ policies }, lines)
    expect(simulate({ policies, maxKeys: 100 }, lines)).toEqual(whole)
    expect(first(whole)).toMatchObject({ keys: 100, run: { refused: 100 } })
  })

  test('one more key fails the simulation, with what to do', () => {
    expect(() => simulate({ policies, maxKeys: 99 }, lines)).toThrow(
      /limiter "default" has more than 99 keys, the next is "10.0.0.99"; .*raise --max-keys/,
    )
    expect(() => simulate({ policies, maxKeys: 99 }, lines)).toThrow(
      expect.objectContaining({ code: 'WEIR_TOO_MANY_KEYS' }),
    )
  })

  test('so does one more policy key', () => {
    let count = 0
    const policy = () => {
      count += 1
      return [{ policy: slidingLog({ name: 'own', limit: 1, window: '1m' }), key: `k${count}` }]
    }
    const simulated = () =>
      simulate({ policies: { api: { policy } }, maxKeys: 10 }, at([...Array(11).keys()]))
    expect(simulated).toThrow(/policy "own" has more than 10 keys/)
  })

  test('that are longer than limiters take are counted, and end no simulation', () => {
    const long = at([0.5, 0.6], { user: 'x'.repeat(8_193) })
    const report = simulate({ policies, key: 'user' }, [...at([0, 1, 2], { user: 'ann' }), ...long])
    expect(first(report)).toMatchObject({ requests: 3, keys: 1, run: { refused: 1 } })
    expect(report.limiters[0]).toMatchObject({ withoutKey: 2 })
  })
})
