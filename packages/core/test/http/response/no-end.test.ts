// Responses that do not show when they end: nothing fails, nothing is held for ever, and a limit
// that is gone is said.

import { EventEmitter } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { responses } from '../../../src/entries/adaptive.js'
import { type HttpLimiter, httpLimiterIn } from '../../../src/http/http-limiter.js'
import {
  afterNodeResponse,
  type HttpAdapter,
  hasNodeConnection,
  heldBy,
  type LimitOptions,
  type NodeResponse,
  overloadGuard,
  recordResponse,
} from '../../../src/http/index.js'
import { concurrency, fixedWindow, leakyBucket } from '../../../src/index.js'
import { memoryStoreIn } from '../../../src/memory/store.js'
import { type VirtualTime, virtualTime } from '../../virtual-time.js'
import { catchWarnings } from '../../warnings.js'
import { type FakeRequest, FakeResponse, fake } from '../exchange.js'

class Response extends FakeResponse {
  readonly node: NodeResponse & { emit?(event: string): unknown }

  constructor(parts: object) {
    super()
    const state = { statusCode: 200, writableEnded: false, writableFinished: false }
    this.node = Object.assign(parts, state) as NodeResponse
  }
}

/** An emitter, as in functions: `finish` may come or not. */
const standIn = (): Response => new Response(new EventEmitter())
/** An emitter that ignores listeners, as in node-mocks-http. */
const deaf = (): Response => new Response({ once: () => undefined })

const adapter: HttpAdapter<FakeRequest, Response> = {
  ...(fake as HttpAdapter<FakeRequest, never>),
  setHeader: () => undefined,
  headersSent: () => false,
  afterResponse: ({ node }, done) => afterNodeResponse(node, done),
  hasConnection: ({ node }) => hasNodeConnection(node),
  cutOff: ({ node }) => void node.destroy?.(),
}

const warnings = catchWarnings()
const said = () => warnings.all.map(({ code, text }) => `${code}: ${text}`)

function limitIn(
  time: VirtualTime,
  options: LimitOptions<FakeRequest>,
): HttpLimiter<FakeRequest, Response> {
  return httpLimiterIn(time, { store: memoryStoreIn(time), ...options }, adapter)
}

const HOLD_MS = 1_000
const slots = concurrency({ name: 'open', limit: 1, holdTimeout: HOLD_MS })
const rate = fixedWindow({ name: 'rate', limit: 10, window: '1h' })

async function left({ limiter }: HttpLimiter<FakeRequest, Response>): Promise<number | undefined> {
  return (await limiter.peek('192.0.2.1')).remaining
}

describe('a response that takes no listeners', () => {
  test('holds no slot, and its request goes on', async () => {
    const limit = limitIn(virtualTime(), { name: 'deaf-slots', policy: slots })
    for (let i = 0; i < 3; i += 1) expect(await limit.check({}, deaf())).toBeUndefined()
    expect(await left(limit)).toBe(1)
    expect(said()).toEqual([
      expect.stringContaining(
        'WEIR_NO_END: limiter "deaf-slots" releases slots at once, since it cannot see when a response ends',
      ),
    ])
  })

  test('holds no slot where its socket throws, and its request goes on', async () => {
    const limit = limitIn(virtualTime(), { name: 'throwing', policy: slots })
    function get(): never {
      throw new Error('not implemented')
    }
    for (let i = 0; i < 3; i += 1) {
      const req = { socket: new Proxy({}, { get }) }
      const response = new Response(Object.assign(new EventEmitter(), { req }))
      expect(await limit.check({}, response)).toBeUndefined()
    }
    expect(await left(limit)).toBe(1)
    expect(said()).toEqual([
      expect.stringContaining('limiter "throwing" releases slots at once, since'),
    ])
  })

  test.each<[string, Partial<Pick<LimitOptions<FakeRequest>, 'refundWhen' | 'settle'>>]>([
    ['refunded', { refundWhen: () => true }],
    ['settled', { settle: () => 0 }],
  ])('is charged and not %s', async (name, options) => {
    const limit = limitIn(virtualTime(), { name, policy: rate, ...options })
    for (let i = 0; i < 3; i += 1) expect(await limit.check({}, deaf())).toBeUndefined()
    expect(await left(limit)).toBe(7)
    expect(said()).toEqual([
      expect.stringContaining(`WEIR_NO_END: limiter "${name}" corrects no charge`),
    ])
  })

  test('waits for its turn', async () => {
    const time = virtualTime()
    const policy = leakyBucket({ capacity: 1, leak: 1, every: '1s' })
    const limit = limitIn(time, { name: 'deaf-wait', policy, wait: '5s' })
    for (let i = 0; i < 2; i += 1)
      expect(await time.settle(limit.check({}, deaf()) as Promise<unknown>)).toBeUndefined()
    expect(time.nowMs()).toBe(1_000)
    expect(said()).toEqual([
      expect.stringContaining('limiter "deaf-wait" does not notice clients that leave'),
    ])
  })

  test('is not in flight for overload protection, and not recorded', () => {
    const guard = overloadGuard()
    for (let i = 0; i < 100; i += 1) expect(guard.admit({}, deaf().node)).toBeUndefined()
    expect(guard.inFlight).toBe(0)
    recordResponse(responses({ latency: '1s' }), deaf().node)
    expect(said()).toEqual([
      expect.stringContaining('overload() counts no request'),
      expect.stringContaining('recordResponses() records no response'),
    ])
  })
})

describe('a slot of a response that has no connection', () => {
  test('is free when the response has finished', async () => {
    const limit = limitIn(virtualTime(), { name: 'finishes', policy: slots })
    for (let i = 0; i < 3; i += 1) {
      const response = standIn()
      expect(await limit.check({}, response)).toBeUndefined()
      expect(await left(limit)).toBe(0)
      response.node.emit?.('finish')
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(said()).toEqual([])
  })

  test('is free at once if the response has ended while the decision was made', async () => {
    const limit = limitIn(virtualTime(), { name: 'ended', policy: slots, refundWhen: ended })
    const response = standIn()
    response.node.emit?.('finish')
    Object.assign(response.node, { writableEnded: true })
    const outcomes: object[] = []
    function ended(_: FakeRequest, outcome: object): boolean {
      outcomes.push(outcome)
      return false
    }
    expect(await limit.check({}, response)).toMatchObject({ status: 499 })
    expect(await left(limit)).toBe(1)
    expect(outcomes).toEqual([{ status: 200, finished: true }])
  })

  test('is not renewed: it expires where nothing ends the response, with a warning', async () => {
    const time = virtualTime()
    const limit = limitIn(time, { name: 'endless', policy: slots })
    for (let i = 0; i < 3; i += 1) {
      expect(await limit.check({}, standIn())).toBeUndefined()
      expect(await limit.check({}, standIn())).toMatchObject({ status: 429 })
      await time.advance(HOLD_MS * 1.02)
    }
    expect(limit.limiter.stats().policies[0]?.slots).toMatchObject({ held: 0, expired: 3 })
    expect(said()).toEqual([
      expect.stringContaining(
        'WEIR_NO_END: a slot of limiter "endless" expired: its request was not over after holdTimeout',
      ),
    ])
  })

  test('is not renewed where the request was made with a socket that is not connected', async () => {
    const time = virtualTime()
    const limit = limitIn(time, { name: 'unconnected', policy: slots })
    const node = new ServerResponse(new IncomingMessage(new Socket()))
    await limit.check({}, Object.assign(new FakeResponse(), { node }))
    await time.advance(HOLD_MS * 1.02)
    expect(await left(limit)).toBe(1)
    expect(said()).toEqual([expect.stringContaining('a slot of limiter "unconnected" expired')])
  })

  test('is held by work that was given to until', async () => {
    const time = virtualTime()
    const limit = limitIn(time, { name: 'working', policy: slots })
    const request: FakeRequest = {}
    await limit.check(request, standIn())
    let end: () => void = () => {}
    void heldBy(request)?.until(
      new Promise<void>((resolve) => {
        end = resolve
      }),
    )
    await time.advance(HOLD_MS * 2)
    expect(limit.limiter.stats().policies[0]?.slots).toMatchObject({ held: 1, expired: 1 })
    end()
    await new Promise((resolve) => setImmediate(resolve))
    expect(limit.limiter.stats().policies[0]?.slots).toMatchObject({ held: 0 })
  })
})

test.each([
  ['a connection is cut off', { connecting: false }, 1],
  ['none can still be answered whole', {}, 0],
])('at maxHold, a response with %s', async (name, parts, cuts) => {
  const time = virtualTime()
  const limit = limitIn(time, { name: name.replaceAll(' ', '-'), policy: slots, maxHold: '500ms' })
  const socket = Object.assign(new EventEmitter(), parts)
  const destroy = vi.fn()
  const request: FakeRequest = {}
  await limit.check(
    request,
    new Response(Object.assign(new EventEmitter(), { req: { socket }, destroy })),
  )
  await time.advance(600)
  expect(heldBy(request)?.signal.aborted).toBe(true)
  expect(destroy).toHaveBeenCalledTimes(cuts)
})

test('a slot of a response with a connection is renewed until it has ended', async () => {
  const time = virtualTime()
  const limit = limitIn(time, { name: 'streaming', policy: slots })
  const socket = Object.assign(new EventEmitter(), { connecting: false, destroyed: false })
  const response = new Response(Object.assign(new EventEmitter(), { req: { socket } }))
  await limit.check({}, response)
  await time.advance(HOLD_MS * 100)
  expect(await left(limit)).toBe(0)
  response.node.emit?.('close')
  await new Promise((resolve) => setImmediate(resolve))
  expect(await left(limit)).toBe(1)
  expect(said()).toEqual([])
})
