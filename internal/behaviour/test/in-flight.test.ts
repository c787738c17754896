// How much is in progress at once: a request holds its slot until its response and its handler have
// ended, whatever its client does.

import { Agent, type ClientRequest, request } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { concurrency, memoryStore, RateLimiter, type Store, slidingWindow } from '@weir/core'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ask, pipeline, serve } from './client.js'
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

/** A handler that takes a while. It tells Express when it has ended; other frameworks know. */
function worker(kind: ServerKind, ms: number) {
  const state = { running: 0, most: 0, ended: 0 }
  async function work(): Promise<Reply> {
    state.running += 1
    state.most = Math.max(state.most, state.running)
    await sleep(ms)
    state.running -= 1
    state.ended += 1
    return { body: 'done' }
  }
  function handler({ placed }: Exchange): Promise<Reply> {
    const working = work()
    if (kind.name.startsWith('Express')) void placed?.held?.until(working)
    return working
  }
  return { state, handler }
}

/** A request whose client leaves after this many ms, or when the promise is fulfilled. */
function leaver(url: string, after: number | Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const sent: ClientRequest = request(url, { agent: false }, (response) => response.resume())
    sent.on('error', () => {}).on('close', () => resolve())
    sent.end()
    void (typeof after === 'number' ? sleep(after) : after).then(() => sent.destroy())
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

/** A store that answers after this many ms. */
function lateStore(ms: number): Store {
  const store = memoryStore()
  return {
    async decide(asked) {
      if (asked.mode === 'consume') await sleep(ms)
      return store.decide(asked)
    },
    reset: (target) => store.reset(target),
  }
}

/** For a busy machine. */
const PATIENT = { timeout: 20_000, interval: 20 }

describe('1,000 requests whose clients leave', () => {
  test.concurrent.for(servers)(
    'never run more handlers of $name than the limit, and release all slots',
    { timeout: 60_000 },
    async (kind, { onTestFinished: atEnd }) => {
      const limit = 20
      const { own, left } = limiterOf(limit)
      const { state, handler } = worker(kind, 1_000)
      const { url } = await serve(kind, { limiters: [own], handler }, async (done) => atEnd(done))
      const sent: Promise<void>[] = []
      for (let i = 0; i < 1_000; i += 1) {
        // Before the request arrives, while it is decided, and while its handler runs.
        sent.push(leaver(url, [0, 1, 5, 20, 80, 400][i % 6] as number))
        if (i % 10 === 9) await sleep(20)
      }
      await Promise.all(sent)
      await vi.waitFor(async () => expect(await left()).toBe(limit), PATIENT)
      expect(state.running).toBe(0)
      expect(state.most).toBeLessThanOrEqual(limit)
      expect(state.ended).toBeGreaterThan(limit)
    },
  )
})

describe.each(servers)('$name', (kind) => {
  test('a request is refused while the limit is in progress, and passes when one has ended', async () => {
    const { own } = limiterOf(1)
    const { handler } = worker(kind, 300)
    const { url } = await serve(kind, { limiters: [own], handler })
    const first = ask(url)
    await vi.waitFor(async () => {
      const { status, headers, body } = await ask(url)
      expect(status).toBe(429)
      expect(headers['retry-after']).toBe('1')
      expect(headers['ratelimit-policy']).toContain('qu="concurrent-requests"')
      expect(JSON.parse(body)['violated-policies']).toEqual(['in-flight'])
    }, PATIENT)
    expect((await first).status).toBe(200)
    expect((await ask(url)).status).toBe(200)
  })

  test('a slot is held while a response is streamed, and released when the stream has ended', async () => {
    const { own, left } = limiterOf(1)
    const body = new Readable({ read() {} })
    const { url } = await serve(kind, { limiters: [own], handler: () => ({ body }) })
    const answered = ask(url)
    body.push('some')
    await vi.waitFor(async () => expect(await left()).toBe(0), PATIENT)
    await sleep(50)
    expect(await left()).toBe(0)
    body.push(null)
    expect(await answered).toMatchObject({ status: 200, body: 'some' })
    await vi.waitFor(async () => expect(await left()).toBe(1), PATIENT)
  })

  test('a slot is released when a client leaves during a streamed response', async () => {
    const { own, left } = limiterOf(1)
    const body = new Readable({ read() {} })
    body.push('some')
    const { url } = await serve(kind, { limiters: [own], handler: () => ({ body }) })
    await leaver(url, 200)
    await vi.waitFor(async () => expect(await left()).toBe(1), PATIENT)
    body.destroy()
  })

  test('a slot is released when the handler fails', async () => {
    const { own, left } = limiterOf(1)
    const handler = async () => {
      await sleep(5)
      throw new Error('of the handler')
    }
    const { url } = await serve(kind, { limiters: [own], handler })
    for (let i = 0; i < 3; i += 1) {
      expect((await ask(url)).status).toBe(500)
      await vi.waitFor(async () => expect(await left()).toBe(1), PATIENT)
    }
  })

  test('consecutive requests of one connection share a slot', async () => {
    const { own } = limiterOf(1)
    const { url } = await serve(kind, { limiters: [own] })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    for (let i = 0; i < 20; i += 1) {
      const status = await new Promise((resolve, reject) => {
        request(url, { agent }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode))
        })
          .on('error', reject)
          .end()
      })
      expect(status).toBe(200)
    }
  })

  test('pipelined requests each hold a slot until their handlers have ended, even if the client leaves', async () => {
    const { own, left } = limiterOf(3)
    const { state, handler } = worker(kind, 200)
    const { url } = await serve(kind, { limiters: [own], handler })
    const socket = pipeline(url, 10)
    await vi.waitFor(() => expect(state.running).toBeGreaterThan(0), PATIENT)
    socket.destroy()
    await sleep(50)
    expect(state.running).toBeGreaterThan(0)
    expect(await left()).toBe(3 - state.running)
    await vi.waitFor(async () => expect(await left()).toBe(3), PATIENT)
    expect(state.most).toBeLessThanOrEqual(3)
  })

  test('a slot is released when a later limiter refuses the request', async () => {
    const { own, left } = limiterOf(1)
    const later: Settings = { name: 'later', policy: slidingWindow({ limit: 1, window: '1h' }) }
    const { url } = await serve(kind, { limiters: [own, later] })
    expect((await ask(url)).status).toBe(200)
    for (let i = 0; i < 3; i += 1) {
      await vi.waitFor(async () => expect(await left()).toBe(1), PATIENT)
      expect((await ask(url)).headers['ratelimit-policy']).toContain('in-flight')
    }
  })

  test('maxHold closes the connection of a request that takes longer, and aborts its signal', async () => {
    const { own, left } = limiterOf(1, { maxHold: 150 })
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
    await vi.waitFor(async () => expect(await left()).toBe(1), PATIENT)
    body.destroy()
  })

  test('waiting requests get their turn when others have ended', async () => {
    const { own } = limiterOf(2, { wait: '10s' })
    const { state, handler } = worker(kind, 50)
    const { url } = await serve(kind, { limiters: [own], handler })
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(url)))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(state.most).toBe(2)
  })

  test('in shadow mode, slots are counted and nobody is refused', async () => {
    const { own, left } = limiterOf(1, { shadow: true })
    const { state, handler } = worker(kind, 100)
    const { url } = await serve(kind, { limiters: [own], handler })
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask(url)))
    expect(answers.map(({ status }) => status)).toEqual(Array(4).fill(200))
    expect(state.most).toBe(4)
    await vi.waitFor(async () => expect(await left()).toBe(1), PATIENT)
  })

  test('in shadow mode, a request is handled though its client has left, and is not cut off at maxHold', async () => {
    const { own, left } = limiterOf(1, { shadow: true, maxHold: 50 })
    const { state, handler } = worker(kind, 200)
    const { url } = await serve(kind, { limiters: [own], handler })
    expect((await ask(url)).status).toBe(200)
    const late: Settings = { ...own, store: lateStore(150) }
    const behind = await serve(kind, { limiters: [late], handler })
    await leaver(behind.url, 50)
    await vi.waitFor(() => expect(state.ended).toBe(2), PATIENT)
    await vi.waitFor(async () => expect(await left()).toBe(1), PATIENT)
  })

  test('in shadow mode, a request with an invalid cost also holds a slot, and releases it', async () => {
    const { own, left } = limiterOf(2, { shadow: true, cost: () => -1 })
    const { handler } = worker(kind, 100)
    const { url } = await serve(kind, { limiters: [own], handler })
    const answered = ask(url)
    await vi.waitFor(async () => expect(await left()).toBe(1), PATIENT)
    expect((await answered).status).toBe(200)
    await vi.waitFor(async () => expect(await left()).toBe(2), PATIENT)
  })

  test.each([{ shadow: false }, { shadow: true }])(
    'a request whose client leaves while a later limiter decides is not handled, even in shadow mode: $shadow',
    async (mode) => {
      const { own, left } = limiterOf(1)
      const policy = slidingWindow({ limit: 9, window: '1h' })
      const { store, asked, answer } = gatedStore()
      const later: Settings = { name: 'later', policy, store, ...mode }
      const { state, handler } = worker(kind, 10)
      const { url } = await serve(kind, { limiters: [own, later], handler })
      await leaver(url, asked)
      // The server notices in the next turn of the event loop that reads from sockets.
      await sleep(50)
      answer()
      await vi.waitFor(async () => expect(await left()).toBe(1), PATIENT)
      await sleep(100)
      expect(state).toMatchObject({ running: 0, ended: 0 })
    },
  )
})
