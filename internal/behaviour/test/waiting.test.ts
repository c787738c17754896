// Requests that wait for their turn instead of being refused, and costs that are known when the
// response has ended.

import { type ClientRequest, request } from 'node:http'
import { Readable } from 'node:stream'
import { leakyBucket, memoryStore, RateLimiter, type Store, slidingLog } from '@weir/core'
import type { ResponseOutcome } from '@weir/core/http'
import { type FakeClock, fakeClock } from '@weir/core/testing'
import { type RedisServer, startRedis } from '@weir/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Answer, ask, pipeline, serve, times } from './client.js'
import type { Exchange, Reply } from './servers/kind.js'
import { servers } from './servers/table.js'

/** One request at a time, and the next 100 ms later. */
const queue = leakyBucket({ name: 'queue', capacity: 1, leak: 10, every: '1s' })
/** One request an hour: others wait until the end of the test. */
const slow = leakyBucket({ name: 'slow', capacity: 1, leak: 1, every: '1h' })

/** Each gateway has another name, since warnings are given once for each. */
let gateways = 0

/** Reports how long the request was delayed. */
function waited({ placed }: Exchange): Reply {
  return { body: String(placed?.waitedMs) }
}

/**
 * From now on, this process waits only as long as a test says: its timers and the clock that they
 * look at. Servers and clients do not notice, since Node's sockets use neither.
 */
function standStill(clock: FakeClock): (ms: number) => Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  return async (ms) => {
    clock.advance(ms)
    await vi.advanceTimersByTimeAsync(ms)
  }
}

/** Until a condition holds, by turns of the event loop, whatever the clocks say. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  let isOver = false
  onTestFinished(() => {
    isOver = true
  })
  while (!(isOver || (await holds()))) await new Promise((resolve) => setImmediate(resolve))
}

/** A request whose response is not awaited. */
function leaver(url: string): ClientRequest {
  const sent = request(url, { agent: false }).on('error', () => {})
  sent.end()
  return sent
}

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

describe.each(servers)('$name', (kind) => {
  test('are delayed until their turn, never less; the decision says for how long', async () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    let arrived = 0
    const key = () => {
      arrived += 1
      return 'all'
    }
    const limiters = [{ name: 'l', store, policy: queue, wait: '2s', key } as const]
    const { url } = await serve(kind, { limiters, handler: waited })
    const pass = standStill(clock)
    const answers: Answer[] = []
    const all = [0, 1, 2, 3].map(async () => answers.push(await ask(url)))
    await until(() => arrived === 4 && answers.length === 1)
    for (const count of [1, 2, 3]) {
      await until(() => answers.length === count)
      await pass(99)
      expect(answers).toHaveLength(count)
      await pass(1)
    }
    await Promise.all(all)
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(answers.map(({ body }) => Number(body))).toEqual([0, 100, 200, 300])
    expect(answers[3]?.headers['retry-after']).toBeUndefined()
    expect(answers[3]?.headers.ratelimit).toContain('"queue";r=0')
  })

  test('of a client that leaves give their turn back, and reach no handler', async () => {
    // One turn a minute, on a stopped clock, so nobody passes before the client has left.
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const handler = vi.fn(waited)
    const policy = leakyBucket({ name: 'p', capacity: 1, leak: 1, every: '1m', maxWait: '10m' })
    const limiters = [{ name: 'l', store, policy, wait: '10m' } as const]
    const { url } = await serve(kind, { limiters, handler })
    await ask(url)
    const line = new RateLimiter({ name: 'l', store, policy, shared: true })
    const turnMs = async () => (await line.peek('127.0.0.1')).resetAfterMs
    const leaving = times(5).map(() => leaver(url))
    await expect.poll(turnMs).toBe(6 * 60_000)
    for (const sent of leaving) sent.destroy()
    await expect.poll(turnMs).toBe(60_000)
    clock.advance(60_000)
    expect((await ask(url)).status).toBe(200)
    expect(handler).toHaveBeenCalledTimes(2)
  })

  test('that a client has pipelined give all their turns back when it leaves, and reach no handler', async () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    const handler = vi.fn(waited)
    const policy = leakyBucket({ name: 'p', capacity: 1, leak: 1, every: '1m', maxWait: '1h' })
    const limiters = [{ name: 'l', store, policy, wait: '1h' } as const]
    const { url } = await serve(kind, { limiters, handler })
    await ask(url)
    const line = new RateLimiter({ name: 'l', store, policy, shared: true })
    const turnMs = async () => (await line.peek('127.0.0.1')).resetAfterMs
    const socket = pipeline(url, 30)
    await expect.poll(turnMs).toBe(31 * 60_000)
    socket.destroy()
    await expect.poll(turnMs).toBe(60_000)
    clock.advance(60_000)
    expect((await ask(url)).status).toBe(200)
    expect(handler).toHaveBeenCalledTimes(2)
  })

  test('give back what an earlier limiter has charged when their client leaves', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const first = slidingLog({ name: 'first', limit: 10, window: '1h' })
    const limiters = [
      { name: 'a', store, policy: first, refundWhenRefused: true },
      { name: 'b', policy: slow, wait: '2h' },
    ] as const
    const { url } = await serve(kind, { limiters })
    await ask(url)
    const limiter = new RateLimiter({ name: 'a', store, policy: first, shared: true })
    const left = async () => (await limiter.peek('127.0.0.1')).remaining
    const sent = leaver(url)
    await expect.poll(left).toBe(8)
    sent.destroy()
    await expect.poll(left).toBe(9)
  })

  describe('settled when the response has ended', () => {
    const policy = [
      slidingLog({ name: 'requests', limit: 10, window: '1h' }),
      slidingLog({ name: 'tokens', limit: 1_000, window: '1h' }),
    ]
    let store: Store
    beforeEach(() => {
      store = memoryStore({ clock: fakeClock() })
    })

    /** A server whose requests cost 100 tokens by estimate, and what is left of both policies. */
    async function gateway(
      settle: (exchange: Exchange, outcome: ResponseOutcome) => unknown,
      handler: (exchange: Exchange) => Reply | Promise<Reply> = () => ({ body: 'done' }),
    ) {
      const outcomes: ResponseOutcome[] = []
      gateways += 1
      const name = `gateway-${gateways}`
      const limiters = [
        {
          name,
          store,
          policy,
          cost: () => ({ requests: 1, tokens: 100 }),
          settle: (exchange: Exchange, outcome: ResponseOutcome) => {
            outcomes.push(outcome)
            return settle(exchange, outcome) as undefined
          },
        },
      ]
      const limiter = new RateLimiter({ name, store, policy, shared: true })
      const { url } = await serve(kind, { limiters, handler })
      const left = async () => {
        const { policies } = await limiter.peek('127.0.0.1')
        return policies.map(({ remaining }) => remaining)
      }
      return { url, left, outcomes }
    }

    test.each<[string, unknown, number]>([
      ['less is given back', { tokens: 30 }, 970],
      ['more is charged', { tokens: 150 }, 850],
      ['past the limit', { tokens: 1_500 }, 0],
      ['undefined: the estimate stays', undefined, 900],
      ['a promise is waited for', Promise.resolve({ tokens: 1 }), 999],
    ])('%s', async (_, actual, tokens) => {
      const { url, left } = await gateway(() => actual)
      expect((await ask(url)).status).toBe(200)
      await expect.poll(left).toEqual([9, tokens])
    })

    test('after a stream, and after one that broke off', async () => {
      // @hono/node-server prints why.
      const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
      onTestFinished(() => printed.mockRestore())
      const used = new WeakMap<object, number>()
      async function* streamed(exchange: Exchange): AsyncGenerator<string> {
        for (let i = 1; i <= 5; i += 1) {
          used.set(exchange.raw, i)
          yield 'token '
          await new Promise(setImmediate)
          if (i === 3 && exchange.url === '/broken') throw new Error('source ran dry')
        }
      }
      const { url, left, outcomes } = await gateway(
        ({ raw }) => ({ tokens: used.get(raw) ?? 0 }),
        (exchange) => ({ body: Readable.from(streamed(exchange)) }),
      )
      await ask(url)
      await expect.poll(left).toEqual([9, 995])
      await expect(ask(`${url}/broken`)).rejects.toThrow()
      await expect.poll(left).toEqual([8, 992])
      expect(outcomes.map(({ finished }) => finished)).toEqual([true, false])
    })

    test('after an error of the handler, and after a client that left', async () => {
      const { url, left, outcomes } = await gateway(
        (_, { status, finished }) => (finished ? { tokens: status } : undefined),
        ({ url: path }) => {
          if (path === '/error') throw new Error('broken')
          return new Promise(() => {})
        },
      )
      await ask(`${url}/error`)
      await expect.poll(left).toEqual([9, 500])
      const sent = leaver(url)
      await expect.poll(left).toEqual([8, 400])
      sent.destroy()
      await expect.poll(() => outcomes.length).toBe(2)
      expect(await left()).toEqual([8, 400])
    })
  })
})
