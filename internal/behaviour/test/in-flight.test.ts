// How much is in progress at once: a request holds its slot until its response and its handler have
// ended, whatever its client does.

import { type ClientRequest, request } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { concurrency, memoryStore, RateLimiter, type Store, slidingWindow } from '@weir/core'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ask, pipeline, serve } from './client.js'
import { moments } from './moments.js'
import type { Exchange, Reply, ServerKind, Settings } from './servers/kind.js'
import { servers } from './servers/table.js'

const NAME = 'gateway'

function inFlight(limit: number) {
  return concurrency({ name: 'in-flight', limit, holdTimeout: '30s' })
}

/** A limiter for concurrent requests, for everybody together; and the number of its free slots. */
function limiterOf(limit: number, settings: Partial<Settings> = {}) {
  const store = memoryStore()
  const own: Settings = {
    name: NAME,
    store,
    policy: inFlight(limit),
    key: () => 'all',
    ...settings,
  } as Settings
  return { own, store, left: () => leftOf(store, limit) }
}

async function leftOf(store: Store, limit: number): Promise<number> {
  const limiter = new RateLimiter({ name: NAME, store, policy: inFlight(limit), shared: true })
  return (await limiter.peek('all')).remaining
}

/** A handler that works until a test ends it, and says when it has ended where the adapter does not
 *  know. */
function worker(kind: ServerKind) {
  const state = { running: 0, most: 0, ended: 0 }
  const ends: (() => void)[] = []
  async function work(): Promise<Reply> {
    state.running += 1
    state.most = Math.max(state.most, state.running)
    await new Promise<void>((resolve) => ends.push(resolve))
    state.running -= 1
    state.ended += 1
    return { body: 'done' }
  }
  function handler({ placed }: Exchange): Promise<Reply> {
    const working = work()
    if (kind.knowsHandlers === false) void placed?.held?.until(working)
    return working
  }
  /** Ends all that run. */
  function end(): void {
    for (const done of ends.splice(0)) done()
  }
  const runs = (count: number) => vi.waitFor(() => expect(state.running).toBe(count))
  return { state, handler, end, runs }
}

/** A request whose client leaves when the promise is fulfilled. */
function leaver(url: string, when: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const sent: ClientRequest = request(url, { agent: false }, (response) => response.resume())
    sent.on('error', () => {}).on('close', () => resolve())
    sent.end()
    void when.then(() => sent.destroy())
  })
}

/** A store that reports when it is asked to consume, and answers when `answer` is called. */
function gatedStore() {
  const memory = memoryStore()
  let ask = () => {}
  let answer = () => {}
  const asked = new Promise<void>((resolve) => {
    ask = resolve
  })
  const mayAnswer = new Promise<void>((resolve) => {
    answer = resolve
  })
  const store: Store = {
    async decide(request) {
      if (request.mode === 'consume') {
        ask()
        await mayAnswer
      }
      return memory.decide(request)
    },
    reset: (target) => memory.reset(target),
  }
  return { store, asked, answer: () => answer() }
}

function promised(): [promise: Promise<void>, fulfil: () => void] {
  let fulfil = () => {}
  const promise = new Promise<void>((resolve) => {
    fulfil = resolve
  })
  return [promise, () => fulfil()]
}

/** Lets the server do what it has to do now. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** The connection of a framework's request. */
function socketOf(raw: object | undefined): Socket {
  const { req, raw: inner, socket } = (raw ?? {}) as Record<string, { socket: Socket } & Socket>
  return req?.socket ?? inner?.socket ?? (socket as Socket)
}

test.each(servers)(
  '500 requests whose clients leave never run more handlers of $name than the limit, and release all slots',
  async (kind) => {
    const limit = 20
    const { happens, when } = moments()
    const { state, handler, end } = worker(kind)
    const { own, left } = limiterOf(limit, {
      key: ({ url }) => {
        happens('decided', url)
        return new Promise((resolve) => setImmediate(resolve, 'all'))
      },
    })
    const { url } = await serve(kind, {
      limiters: [own],
      handler: (exchange) => {
        happens('handled', exchange.url)
        return handler(exchange)
      },
    })
    for (let batch = 0; batch < 10; batch += 1) {
      const sent = Array.from({ length: 50 }, (_, i) => {
        const path = `/${batch}-${i}`
        // Before the request arrives, while it is decided, or while its handler runs; a refused one
        // gets a response.
        const leaves = [Promise.resolve(), when('decided', path), when('handled', path)][i % 3]
        return leaver(url + path, leaves as Promise<void>)
      })
      await Promise.all(sent)
      end()
      // Handlers that begin later than their clients leave end with the next batch.
    }
    await vi.waitFor(async () => {
      end()
      expect(await left()).toBe(limit)
    })
    expect(state.running).toBe(0)
    expect(state.most).toBeLessThanOrEqual(limit)
    expect(state.ended).toBeGreaterThan(limit)
  },
)

describe.each(servers)('$name', (kind) => {
  test('a request is refused while the limit is in progress, and passes when one has ended', async () => {
    const { own, left } = limiterOf(1)
    const { handler, end, runs } = worker(kind)
    const { url } = await serve(kind, { limiters: [own], handler })
    const first = ask(url)
    await runs(1)
    const { status, headers, body } = await ask(url)
    expect(status).toBe(429)
    expect(headers['retry-after']).toBe('1')
    expect(headers['ratelimit-policy']).toContain('qu="concurrent-requests"')
    expect(JSON.parse(body)['violated-policies']).toEqual(['in-flight'])
    end()
    expect((await first).status).toBe(200)
    await vi.waitFor(async () => expect(await left()).toBe(1))
    const second = ask(url)
    await runs(1)
    end()
    expect((await second).status).toBe(200)
  })

  test('a slot is held while a response is streamed, and released when the stream has ended', async () => {
    const { own, left } = limiterOf(1)
    const body = new Readable({ read() {} })
    const { url } = await serve(kind, { limiters: [own], handler: () => ({ body }) })
    const answered = ask(url)
    body.push('some')
    await vi.waitFor(async () => expect(await left()).toBe(0))
    await turns()
    expect(await left()).toBe(0)
    body.push(null)
    expect(await answered).toMatchObject({ status: 200, body: 'some' })
    await vi.waitFor(async () => expect(await left()).toBe(1))
  })

  test('a slot is released when a client leaves during a streamed response', async () => {
    const { own, left } = limiterOf(1)
    const body = new Readable({ read() {} })
    body.push('some')
    const [held, holds] = promised()
    const handler = () => {
      holds()
      return { body }
    }
    const { url } = await serve(kind, { limiters: [own], handler })
    await leaver(url, held)
    await vi.waitFor(async () => expect(await left()).toBe(1))
    body.destroy()
  })

  test('a slot is released when the handler fails', async () => {
    const { own, left } = limiterOf(1)
    const handler = async () => {
      await turns()
      throw new Error('of the handler')
    }
    const { url } = await serve(kind, { limiters: [own], handler })
    for (let i = 0; i < 3; i += 1) {
      expect((await ask(url)).status).toBe(500)
      await vi.waitFor(async () => expect(await left()).toBe(1))
    }
  })

  test('pipelined requests each hold a slot until their handlers have ended, even if the client leaves', async () => {
    const { own, left } = limiterOf(3)
    const { state, handler, end } = worker(kind)
    const { url } = await serve(kind, { limiters: [own], handler })
    const socket = pipeline(url, 10)
    await vi.waitFor(() => expect(state.running).toBeGreaterThan(0))
    socket.destroy()
    await turns()
    expect(state.running).toBeGreaterThan(0)
    expect(await left()).toBe(3 - state.running)
    await vi.waitFor(async () => {
      end()
      expect(await left()).toBe(3)
    })
    expect(state.most).toBeLessThanOrEqual(3)
  })

  test('a slot is released when a later limiter refuses the request', async () => {
    const { own, left } = limiterOf(1)
    const later: Settings = { name: 'later', policy: slidingWindow({ limit: 1, window: '1h' }) }
    const { url } = await serve(kind, { limiters: [own, later] })
    expect((await ask(url)).status).toBe(200)
    for (let i = 0; i < 3; i += 1) {
      await vi.waitFor(async () => expect(await left()).toBe(1))
      expect((await ask(url)).headers['ratelimit-policy']).toContain('in-flight')
    }
  })

  test('maxHold closes the connection of a request that takes longer, and aborts its signal', async () => {
    const { own, left } = limiterOf(1, { maxHold: 50 })
    const signals: (AbortSignal | undefined)[] = []
    const body = new Readable({ read() {} })
    const handler = ({ placed }: Exchange): Reply => {
      signals.push(placed?.held?.signal)
      body.push('some')
      return { body }
    }
    const { url } = await serve(kind, { limiters: [own], handler })
    await expect(ask(url)).rejects.toThrow()
    expect(signals[0]?.reason).toMatchObject({ code: 'WEIR_HOLD_ENDED' })
    await vi.waitFor(async () => expect(await left()).toBe(1))
    body.destroy()
  })

  test('waiting requests get their turn when others have ended', async () => {
    const { own } = limiterOf(2, { wait: '1h' })
    const { state, handler, end } = worker(kind)
    const { url } = await serve(kind, { limiters: [own], handler })
    const answers = Promise.all(Array.from({ length: 8 }, () => ask(url)))
    await vi.waitFor(() => {
      if (state.running === 2) end()
      expect(state.ended).toBe(8)
    })
    expect((await answers).map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(state.most).toBe(2)
  })

  test('in shadow mode, slots are counted and nobody is refused', async () => {
    const { own, left } = limiterOf(1, { shadow: true })
    const { handler, end, runs } = worker(kind)
    const { url } = await serve(kind, { limiters: [own], handler })
    const answers = Promise.all(Array.from({ length: 4 }, () => ask(url)))
    await runs(4)
    end()
    expect((await answers).map(({ status }) => status)).toEqual(Array(4).fill(200))
    await vi.waitFor(async () => expect(await left()).toBe(1))
  })

  test('in shadow mode, a request is handled though its client has left', async () => {
    const { store, asked, answer } = gatedStore()
    const { own } = limiterOf(1, { shadow: true, store })
    const { handler, end, runs, state } = worker(kind)
    const { url } = await serve(kind, { limiters: [own], handler })
    await leaver(url, asked)
    answer()
    await runs(1)
    end()
    await vi.waitFor(() => expect(state.ended).toBe(1))
    await vi.waitFor(async () => expect(await leftOf(store, 1)).toBe(1))
  })

  test('in shadow mode, a request is not cut off at maxHold', async () => {
    const { own } = limiterOf(1, { shadow: true, maxHold: 1_000 })
    const { handler, end, runs } = worker(kind)
    const { url } = await serve(kind, { limiters: [own], handler })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const answered = ask(url)
    await runs(1)
    vi.advanceTimersByTime(60_000)
    end()
    expect((await answered).status).toBe(200)
  })

  test('in shadow mode, a request with an invalid cost also holds a slot, and releases it', async () => {
    const { own, left } = limiterOf(2, { shadow: true, cost: () => -1 })
    const { handler, end, runs } = worker(kind)
    const { url } = await serve(kind, { limiters: [own], handler })
    const answered = ask(url)
    await runs(1)
    expect(await left()).toBe(1)
    end()
    expect((await answered).status).toBe(200)
    await vi.waitFor(async () => expect(await left()).toBe(2))
  })

  test.each([{ shadow: false }, { shadow: true }])(
    'a request whose client leaves while a later limiter decides is not handled, even in shadow mode: $shadow',
    async (mode) => {
      const { own, left } = limiterOf(1)
      const policy = slidingWindow({ limit: 9, window: '1h' })
      const { store, asked, answer } = gatedStore()
      const later: Settings = { name: 'later', policy, store, ...mode }
      const { state, handler } = worker(kind)
      let request: Exchange['raw'] | undefined
      const around = (exchange: Exchange, next: () => unknown) => {
        request = exchange.raw
        return next()
      }
      const { url } = await serve(kind, { limiters: [own, later], handler, around })
      await leaver(url, asked)
      await vi.waitFor(() => expect(socketOf(request).destroyed).toBe(true))
      answer()
      await vi.waitFor(async () => expect(await left()).toBe(1))
      await turns()
      expect(state).toMatchObject({ running: 0, ended: 0 })
    },
  )
})
