// Decisions of one turn share a call, and equal ones a group, with the same results as without.

import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import { counterOf } from '../../src/algorithms/policy.js'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  RateLimiter,
  slidingCounter,
  slidingLog,
  tokenBucket,
} from '../../src/index.js'
import { slotOf } from '../../src/redis/transport/hash-slot.js'
import { fakeClock } from '../../src/testing/index.js'
import { clusterClient, singleClient, strictStore } from './clients.js'

let runs = 0
function newName(): string {
  runs += 1
  return `c${Date.now().toString(36)}${runs}`
}

/** A store over the client, and the number of its calls. */
function counted(client: ReturnType<typeof singleClient>) {
  const calls: string[][] = []
  const spy = {
    callBuffer(command: string, args: string[]) {
      calls.push(args)
      return client.callBuffer(command, args)
    },
  }
  return { store: strictStore(spy), calls }
}

describe('on a single server', () => {
  const client = singleClient()

  test('a turn of decisions is one call, equal ones one key, in order of arrival', async () => {
    const { store, calls } = counted(client)
    const limiter = new RateLimiter({
      name: newName(),
      store,
      policy: slidingLog({ limit: 10, window: '1m' }),
    })
    await limiter.consume('warm')
    calls.length = 0
    const hot = Array.from({ length: 16 }, () => limiter.consume('hot'))
    const others = Array.from({ length: 20 }, (_, i) => limiter.consume(`k${i}`))
    const decisions = await Promise.all(hot)
    expect((await Promise.all(others)).every(({ remaining }) => remaining === 9)).toBe(true)
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      ...Array.from({ length: 10 }, (_, i) => [true, 9 - i]),
      ...Array.from({ length: 6 }, () => [false, 0]),
    ])
    expect(calls.map((args) => args[1])).toEqual(['21'])
  })

  test('a batch is sent when it has 32 keys', async () => {
    const { store, calls } = counted(client)
    const limiter = new RateLimiter({
      name: newName(),
      store,
      policy: slidingLog({ limit: 10, window: '1m' }),
    })
    await limiter.consume('warm')
    calls.length = 0
    await Promise.all(Array.from({ length: 600 }, (_, i) => limiter.consume(`k${i}`)))
    expect(calls.map((args) => args[1])).toEqual([...Array(18).fill('32'), '24'])
  })

  test('a request after one that came alone waits not for the end of the turn, but for what is requested beside it', async () => {
    const { store, calls } = counted(client)
    const policy = slidingLog({ limit: 10, window: '1m' })
    const limiter = new RateLimiter({ name: newName(), store, policy })
    await limiter.consume('warm')
    calls.length = 0
    const beside = Promise.all(['a', 'b', 'c'].map((key) => limiter.consume(key)))
    expect(calls).toEqual([])
    await Promise.resolve()
    expect(calls.map((args) => args[1])).toEqual(['3'])
    // A call is in progress now, and the next request waits until the turn is over.
    const next = limiter.consume('d')
    await Promise.resolve()
    expect(calls.map((args) => args[1])).toEqual(['3'])
    await Promise.all([beside, next])
    // These came together, so the next one also waits.
    await Promise.all(['a', 'b', 'c'].map((key) => limiter.consume(key)))
    const last = limiter.consume('e')
    await Promise.resolve()
    expect(calls.map((args) => args[1])).toEqual(['3', '1', '3'])
    await last
  })

  test('a refund that is requested before a consume takes effect before it', async () => {
    const limiter = new RateLimiter({
      name: newName(),
      store: strictStore(client),
      policy: slidingLog({ limit: 1, window: '1m' }),
    })
    const first = await limiter.consume('k')
    const [, second] = await Promise.all([limiter.refund(first), limiter.consume('k')])
    expect(second.allowed).toBe(true)
  })

  test('a key with a foreign value fails only its own decisions', async () => {
    const name = newName()
    const limiter = new RateLimiter({
      name,
      store: strictStore(client),
      policy: slidingLog({ name: 'p', limit: 1, window: '1m' }),
    })
    await client.set(`weir:{bad}:${name}:p:log1-1m`, 'x', 'PX', 60_000)
    const settled = await Promise.allSettled(
      ['a', 'bad', 'b', 'bad'].map((key) => limiter.consume(key)),
    )
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
    ])
    expect(settled[1]).toMatchObject({ reason: { code: 'WEIR_FOREIGN_KEY' } })
  })

  test.each([
    tokenBucket({ name: 'p', capacity: 1, refill: 1, every: '1m' }),
    fixedWindow({ name: 'p', limit: 1, window: '1m' }),
    slidingCounter({ name: 'p', limit: 1, window: '1m' }),
    slidingLog({ name: 'p', limit: 1, window: '1m' }),
  ])(
    'a foreign value is reported, and no request beside it is lost: $algorithm',
    async (policy) => {
      const name = newName()
      const limiter = new RateLimiter({ name, store: strictStore(client), policy })
      const foreign = `weir:{bad}:${name}:p:${counterOf(policy)}`
      for (const put of [
        () => client.set(foreign, 'x', 'PX', 60_000),
        () => client.sadd(foreign, 'x'),
        () => client.rpush(foreign, 'x'),
      ]) {
        await client.del(foreign)
        await put()
        const settled = await Promise.allSettled(
          ['a', 'bad', 'b'].map((key) => limiter.consume(key)),
        )
        expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
        const { code, message } = (settled[1] as PromiseRejectedResult).reason
        expect([code, message]).toEqual(['WEIR_FOREIGN_KEY', expect.stringContaining(foreign)])
      }
      await client.del(foreign)
    },
  )

  test('every caller continues in its async context', async () => {
    const context = new AsyncLocalStorage<number>()
    const limiter = new RateLimiter({
      name: newName(),
      store: strictStore(client),
      policy: slidingLog({ limit: 1_000, window: '1m' }),
    })
    const seen = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        context.run(i, async () => {
          await limiter.consume(i % 2 ? 'hot' : `k${i}`)
          return context.getStore()
        }),
      ),
    )
    expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => i))
  })

  test.each([
    ['1s', 1],
    ['1m', 7],
    ['1s', 333],
    ['1d', 99_999],
  ] as const)(
    'a receipt of merged requests gave back one unit less: %s, %s',
    async (every, refill) => {
      const policy = tokenBucket({ capacity: 5, refill, every })
      for (const afterMs of [0, 1, 50]) {
        const seen = []
        const clock = fakeClock()
        for (const store of [memoryStore({ clock }), strictStore(client, { clock })]) {
          const limiter = new RateLimiter({ name: newName(), store, policy })
          const decisions = await Promise.all([0, 1, 2].map(() => limiter.consume('k')))
          clock.advance(afterMs)
          for (const decision of decisions) {
            await limiter.refund(decision)
            seen.push((await limiter.peek('k')).remaining)
          }
          clock.advance(-afterMs)
        }
        expect(seen.slice(3)).toEqual(seen.slice(0, 3))
        if (afterMs === 0) expect(seen.slice(0, 3)).toEqual([3, 4, 5])
      }
    },
  )

  test('requests with other costs, and penalties, got the figures of the last one', async () => {
    const figures = []
    const clock = fakeClock()
    for (const store of [memoryStore({ clock }), strictStore(client, { clock })]) {
      const limiter = new RateLimiter({
        name: newName(),
        store,
        policy: slidingLog({ limit: 3, window: '1m' }),
      })
      const decisions = await Promise.all([
        ...[0, 1].map(() => limiter.consume('dear', { cost: 2 })),
        ...[0, 1, 2].map(() => limiter.penalty('bad', { cost: 2 })),
      ])
      figures.push(
        decisions.map(({ allowed, policies: [each] }) => [
          allowed,
          each?.remaining,
          each?.retryAfterMs,
        ]),
      )
    }
    expect(figures[1]).toEqual(figures[0])
  })

  test('a reset overtook the requests before it', async () => {
    const limiter = new RateLimiter({
      name: newName(),
      store: strictStore(client),
      policy: slidingLog({ limit: 5, window: '1m' }),
    })
    await Promise.all([limiter.consume('k'), limiter.consume('k'), limiter.reset('k')])
    expect((await limiter.peek('k')).remaining).toBe(5)
  })

  test('receipts of merged requests give back what each of them took, and no more', async () => {
    const clock = fakeClock()
    const policy = tokenBucket({ capacity: 10, refill: 1, every: '1s' })
    const results = []
    for (const store of [memoryStore({ clock }), strictStore(client, { clock })]) {
      const limiter = new RateLimiter({ name: newName(), store, policy })
      const decisions: Decision[] = await Promise.all(
        Array.from({ length: 10 }, () => limiter.consume('k')),
      )
      clock.advance('4s')
      await Promise.all(decisions.map((decision) => limiter.refund(decision)))
      const { remaining, resetAfterMs } = await limiter.peek('k')
      clock.advance(-4_000)
      results.push([remaining, resetAfterMs])
    }
    expect(results[1]).toEqual(results[0])
  })
})

test('on a Cluster, batches form by slot', async () => {
  const client = clusterClient()
  const limiter = new RateLimiter({
    name: newName(),
    store: strictStore(client),
    policy: [slidingLog({ limit: 3, window: '1m' }), fixedWindow({ limit: 4, window: '1m' })],
  })
  const keys = Array.from({ length: 200 }, (_, i) => `k${i % 50}`)
  const decisions = await Promise.all(keys.map((key) => limiter.consume(key)))
  expect(decisions.filter(({ allowed }) => allowed).length).toBe(150)
})

test.each(['123456789', 'u42', 'a', '%7Bx%7Dy', '#abc', ''])(
  'the slot of %s is the one that Redis computes',
  async (tag) => {
    expect(slotOf(tag)).toBe(await singleClientSlot(tag))
  },
)

async function singleClientSlot(tag: string): Promise<number> {
  return (await clusterClient().cluster('KEYSLOT', tag)) as number
}
