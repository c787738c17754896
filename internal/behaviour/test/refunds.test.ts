import { request } from 'node:http'
import { Readable } from 'node:stream'
import { fixedWindow, memoryStore, RateLimiter, type Store, StoreError } from '@weir/core'
import type { ResponseOutcome } from '@weir/core/http'
import { type FakeClock, fakeClock } from '@weir/core/testing'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ask, pipeline, serve, statuses, times } from './client.js'
import type { Exchange, Reply, Running } from './servers/kind.js'
import { servers } from './servers/table.js'

const policy = fixedWindow({ name: 'p', limit: 10, window: '1h' })

describe.each(servers)('$name', (kind) => {
  let clock: FakeClock
  let store: Store
  beforeEach(() => {
    clock = fakeClock()
    store = memoryStore({ clock })
  })

  /** A server that records how its responses ended. */
  async function noting(
    refund: (outcome: ResponseOutcome) => boolean,
    handler: (exchange: Exchange) => Reply | Promise<Reply>,
    over: Store = store,
  ): Promise<Running & { readonly outcomes: ResponseOutcome[] }> {
    const outcomes: ResponseOutcome[] = []
    const refundWhen = (_: Exchange, outcome: ResponseOutcome) => {
      outcomes.push(outcome)
      return refund(outcome)
    }
    const limiters = [{ store: over, name: 'l', policy, cost: () => 2, refundWhen }]
    return { ...(await serve(kind, { limiters, handler })), outcomes }
  }

  async function left(): Promise<number> {
    const limiter = new RateLimiter({ store, name: 'l', policy, shared: true })
    return (await limiter.peek('127.0.0.1')).remaining
  }

  test('by status', async () => {
    const { url, outcomes } = await noting(
      ({ status }) => status >= 400,
      ({ url: path }) => ({ status: Number(path.slice(1)), body: '' }),
    )
    for (const status of [200, 404, 503, 201]) await ask(`${url}/${status}`)
    await vi.waitFor(() => expect(outcomes).toHaveLength(4))
    expect(outcomes.map(({ status }) => status)).toEqual([200, 404, 503, 201])
    expect(outcomes.every(({ finished }) => finished)).toBe(true)
    await expect.poll(left).toBe(6)
  })

  test('after a throw', async () => {
    const { url, outcomes } = await noting(
      ({ status }) => status >= 500,
      () => {
        throw new Error('broken')
      },
    )
    expect(await statuses(url, times(3))).toEqual([500, 500, 500])
    await vi.waitFor(() => expect(outcomes).toHaveLength(3))
    await expect.poll(left).toBe(10)
  })

  test('or settled, for each request that a client has pipelined, when it leaves', async () => {
    const wide = fixedWindow({ name: 'p', limit: 100, window: '1h' })
    const cut = { status: 200, finished: false }
    const refunded: ResponseOutcome[] = []
    const settled: ResponseOutcome[] = []
    const limiters = [
      {
        store,
        name: 'a',
        policy: wide,
        cost: 3,
        refundWhen: (_: Exchange, outcome: ResponseOutcome) => refunded.push(outcome) > 0,
      },
      {
        store,
        name: 'b',
        policy: wide,
        cost: 3,
        settle: (_: Exchange, outcome: ResponseOutcome) => (settled.push(outcome) > 0 ? 1 : 3),
      },
    ]
    const handler = vi.fn(() => new Promise<Reply>(() => {}))
    const { url } = await serve(kind, { limiters, handler })
    const socket = pipeline(url, 30)
    await vi.waitFor(() => expect(handler).toHaveBeenCalledTimes(30))
    socket.destroy()
    await vi.waitFor(() => expect([...refunded, ...settled]).toHaveLength(60))
    expect([...refunded, ...settled]).toEqual(Array(60).fill(cut))
    const leftOf = async (name: string) => {
      const limiter = new RateLimiter({ store, name, policy: wide, shared: true })
      return (await limiter.peek('127.0.0.1')).remaining
    }
    await expect.poll(() => leftOf('a')).toBe(100)
    await expect.poll(() => leftOf('b')).toBe(70)
  })

  test('after a disconnect before the response, which has the same outcome in every framework', async () => {
    const gate = gateFor<Reply>()
    const { url, outcomes } = await noting(
      ({ finished }) => !finished,
      () => gate.promise,
    )
    await leave(url, async () => expect(await left()).toBe(8))
    await vi.waitFor(() => expect(outcomes).toHaveLength(1))
    await expect.poll(left).toBe(10)
    // The handler ends later, which is no second end of the response.
    gate.open({ status: 500, body: 'too late' })
    await ask(url).catch(() => {})
    expect(outcomes[0]).toEqual({ status: 200, finished: false })
    await vi.waitFor(() => expect(outcomes).toHaveLength(2))
    expect(await left()).toBe(8)
  })

  test('after a stream that broke off', async () => {
    // @hono/node-server prints why.
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => printed.mockRestore())
    const { url, outcomes } = await noting(
      ({ finished }) => !finished,
      () => ({ body: Readable.from(breaking()) }),
    )
    await expect(ask(url)).rejects.toThrow()
    await vi.waitFor(() => expect(outcomes).toEqual([{ status: 200, finished: false }]))
    await expect.poll(left).toBe(10)
  })

  test('a store that fails between decision and refund fails no response', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const failing: Store = {
      ...store,
      decide: (group) =>
        group.mode === 'refund'
          ? Promise.reject(new StoreError('WEIR_STORE_FAILED', 'gone'))
          : store.decide(group),
    }
    const { url, outcomes } = await noting(
      () => true,
      () => ({ body: '' }),
      failing,
    )
    expect(await statuses(url, times(2))).toEqual([200, 200])
    await vi.waitFor(() => expect(outcomes).toHaveLength(2))
    await new Promise(setImmediate)
    expect(await left()).toBe(6)
    warn.mockRestore()
  })
})

/** A promise that the test resolves. */
function gateFor<Value>(): {
  readonly promise: Promise<Value>
  readonly open: (value: Value) => void
} {
  let open: (value: Value) => void = () => {}
  const promise = new Promise<Value>((resolve) => {
    open = resolve
  })
  return { promise, open }
}

/** Sends a request, and leaves when it has been counted. */
async function leave(url: string, counted: () => Promise<void>): Promise<void> {
  const sent = request(url, { agent: false }).on('error', () => {})
  sent.end()
  await vi.waitFor(counted)
  sent.destroy()
}

async function* breaking(): AsyncGenerator<string> {
  yield 'some '
  // The request must be on its way before the client can break it off.
  for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve))
  throw new Error('source ran dry')
}
