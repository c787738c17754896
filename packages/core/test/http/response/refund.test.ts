// Giving the cost back after the response: exactly once or not at all, whatever becomes of the
// connection.

import { EventEmitter, once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { afterNodeResponse, type ResponseOutcome } from '../../../src/http/index.js'
import { fixedWindow, memoryStore, type Store } from '../../../src/index.js'
import { fakeClock } from '../../../src/testing/index.js'
import { type FakeRequest, FakeResponse, limitOn } from '../exchange.js'

const policy = fixedWindow({ name: 'p', limit: 10, window: '1m' })

let warnings: string[] = []
beforeEach(() => {
  warnings = []
  vi.spyOn(process, 'emitWarning').mockImplementation(((_: string, { code }: { code: string }) => {
    warnings.push(code)
  }) as typeof process.emitWarning)
})
afterEach(() => vi.restoreAllMocks())

test.each<
  [
    string,
    (request: FakeRequest, outcome: ResponseOutcome) => boolean | PromiseLike<boolean>,
    number,
    boolean,
    number,
  ]
>([
  ['true: the cost is back', () => true, 200, true, 10],
  ['false: it stays charged', () => false, 200, true, 7],
  ['true later: the cost is back', async () => true, 200, true, 10],
  ['by status: failed', (_, { status }) => status >= 500, 503, true, 10],
  ['by status: not failed', (_, { status }) => status >= 500, 404, true, 7],
  ['by request', ({ user }) => user === 'ann', 200, true, 10],
  ['by the end: cut off', (_, { finished }) => !finished, 200, false, 10],
  ['by the end: sent whole', (_, { finished }) => !finished, 200, true, 7],
])('%s', async (_, refundWhen, status, finished, left) => {
  const { send, limiter } = limitOn({ policy, cost: 3, refundWhen })
  const response = new FakeResponse()
  await send({ user: 'ann' }, response)
  expect((await limiter.peek('192.0.2.1')).remaining).toBe(7)
  await response.end(status, finished)
  expect((await limiter.peek('192.0.2.1')).remaining).toBe(left)
})

test('never twice, not even by an adapter that calls back twice', async () => {
  const { send, limiter } = limitOn({ policy, refundWhen: () => true })
  await send()
  const response = new FakeResponse()
  await send({}, response)
  const [done] = response.endings
  for (let i = 0; i < 3; i += 1) done?.({ status: 200, finished: true })
  await response.end()
  expect((await limiter.peek('192.0.2.1')).remaining).toBe(9)
})

test('express-rate-limit: a late decrement hit the next window. Ours changes nothing', async () => {
  const { send, limiter, clock } = limitOn({ policy, cost: 5, refundWhen: () => true })
  const response = new FakeResponse()
  await send({}, response)
  clock.advance('1m')
  await send()
  await response.end()
  expect((await limiter.peek('192.0.2.1')).remaining).toBe(5)
})

test('refused and skipped requests have nothing to give back', async () => {
  const refundWhen = vi.fn(() => true)
  const { send } = limitOn({
    policy: fixedWindow({ limit: 0, window: '1m' }),
    skip: ({ user }) => user === 'ann',
    refundWhen,
  })
  const responses = [new FakeResponse(), new FakeResponse()] as const
  await send({}, responses[0])
  await send({ user: 'ann' }, responses[1])
  for (const response of responses) await response.end()
  expect(refundWhen).not.toHaveBeenCalled()
})

test('each limiter of a request gives back its own', async () => {
  const clock = fakeClock()
  const [first, second] = [
    limitOn({ policy, cost: 3, refundWhen: () => true }, clock),
    limitOn({ policy: fixedWindow({ limit: 0, window: '1m' }) }),
  ]
  const [request, response] = [{}, new FakeResponse()]
  await first.send(request, response)
  expect(await second.send(request, response)).toMatchObject({ status: 429 })
  await response.end(429)
  expect((await first.limiter.peek('192.0.2.1')).remaining).toBe(10)
})

test('CVE-2026-26330 (Envoy): a store that fails between decision and refund is a warning, not a crash', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const flaky: Store = {
    decide: (group) => {
      if (group.mode === 'refund') return Promise.reject(new Error('gone'))
      return store.decide(group)
    },
    reset: (subject) => store.reset(subject),
  }
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  for (let i = 0; i < 2; i += 1) {
    const response = new FakeResponse()
    await limitOn({ name: 'flaky', policy, store: flaky, refundWhen: () => true }).send(
      {},
      response,
    )
    await response.end()
  }
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
  expect(warnings).toEqual(['WEIR_REFUND_FAILED'])
})

test.each([
  [
    'throws',
    () => {
      throw new Error('bug')
    },
  ],
  [
    'rejects',
    async () => {
      throw new Error('bug')
    },
  ],
])(
  'refundWhen that %s is a warning, and the cost stays charged',
  async (name, refundWhen: () => boolean | Promise<boolean>) => {
    const { send, limiter } = limitOn({ name, policy, refundWhen })
    const response = new FakeResponse()
    await send({}, response)
    await response.end()
    expect((await limiter.peek('192.0.2.1')).remaining).toBe(9)
    expect(warnings).toEqual(['WEIR_REFUND_FAILED'])
  },
)

class NodeLikeResponse extends EventEmitter {
  statusCode = 200
  writableEnded = false
  writableFinished = false
  closed = false
}

/** What HTTP/2 has of it. */
async function http2Answers(
  handler: (response: Http2ServerResponse) => void,
  leave: (stream: ClientHttp2Stream, client: ClientHttp2Session) => void,
): Promise<ResponseOutcome> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  client.on('error', () => undefined)
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  const stream = client.request({ ':path': '/' })
  stream.on('error', () => undefined)
  stream.resume()
  const [, response] = (await once(server, 'request')) as [unknown, Http2ServerResponse]
  return new Promise((resolve) => {
    afterNodeResponse(response, resolve)
    handler(response)
    leave(stream, client)
  })
}

describe('HTTP/2', () => {
  const CANCEL = constants.NGHTTP2_CANCEL

  test('a response that was sent whole', async () => {
    const outcome = await http2Answers(
      (response) => void response.writeHead(201).end('ok'),
      () => undefined,
    )
    expect(outcome).toEqual({ status: 201, finished: true })
  })

  test.each<[string, Parameters<typeof http2Answers>[0], Parameters<typeof http2Answers>[1]]>([
    ['cancelled before an answer', () => undefined, (stream) => stream.close(CANCEL)],
    [
      'cancelled within the answer',
      (response) => void response.write('a'),
      (stream) => stream.close(CANCEL),
    ],
    ['given up with its connection', () => undefined, (_, client) => client.destroy()],
  ])(
    'a request %s was taken for one that was answered, and refunded',
    async (_, handler, leave) => {
      expect(await http2Answers(handler, leave)).toEqual({ status: 200, finished: false })
    },
  )

  test('a stream that was gone when it was first looked at was never asked about', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => {
      client.destroy()
      server.close()
    })
    const stream = client.request({ ':path': '/' }).on('error', () => undefined)
    const [, response] = (await once(server, 'request')) as [unknown, Http2ServerResponse]
    stream.close(CANCEL)
    await once(response, 'close')
    const outcome = await new Promise((resolve) => afterNodeResponse(response, resolve))
    expect(outcome).toEqual({ status: 200, finished: false })
  })
})

test('a response that many limiters wait for had a listener for each, and Node warned of a leak', () => {
  const response = new NodeLikeResponse()
  const seen: ResponseOutcome[] = []
  for (let i = 0; i < 20; i += 1) afterNodeResponse(response, (outcome) => seen.push(outcome))
  expect(response.listenerCount('close')).toBe(1)
  response.emit('close')
  expect(seen).toHaveLength(20)
})

test('a Node response is over once it has closed', () => {
  const response = new NodeLikeResponse()
  const seen: ResponseOutcome[] = []
  afterNodeResponse(response, (outcome) => seen.push(outcome))
  response.emit('finish')
  expect(seen).toEqual([])
  response.statusCode = 404
  response.writableEnded = true
  response.writableFinished = true
  response.emit('close')
  response.emit('close')
  expect(seen).toEqual([{ status: 404, finished: true }])
  expect(response.listenerCount('close')).toBe(0)
})

test('a Node response that closed while its decision was on the way is over at once', () => {
  const response = new NodeLikeResponse()
  response.closed = true
  const seen: ResponseOutcome[] = []
  afterNodeResponse(response, (outcome) => seen.push(outcome))
  expect(seen).toEqual([{ status: 200, finished: false }])
})
