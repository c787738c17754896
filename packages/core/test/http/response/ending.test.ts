// When a request is over: however its response ends, and whatever happens to its connection.

import { EventEmitter, once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2ServerResponse,
} from 'node:http2'
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  afterNodeResponse,
  hasNodeConnection,
  type ResponseOutcome,
} from '../../../src/http/index.js'

class NodeLikeResponse extends EventEmitter {
  statusCode = 200
  writableEnded = false
  writableFinished = false
  closed = false
}

/** The same over HTTP/2. */
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

  test('a response that was sent completely', async () => {
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
  ])('a request %s does not count as answered', async (_, handler, leave) => {
    expect(await http2Answers(handler, leave)).toEqual({ status: 200, finished: false })
  })

  test('a stream that has ended before the first look is over', async () => {
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

test('a response that many limiters wait for has one listener, so Node does not warn of a leak', () => {
  const response = new NodeLikeResponse()
  const seen: ResponseOutcome[] = []
  for (let i = 0; i < 20; i += 1) afterNodeResponse(response, (outcome) => seen.push(outcome))
  expect(response.listenerCount('close')).toBe(1)
  response.emit('close')
  expect(seen).toHaveLength(20)
})

/** What responses look like that no connection ends: those of functions, and of tests. */
describe('a stand-in for a response', () => {
  type Life = (response: NodeLikeResponse) => void
  const emits =
    (event: string, state: object = {}): Life =>
    (response) =>
      void Object.assign(response, state).emit(event)
  const ended = { statusCode: 404, writableEnded: true }
  const socket = Object.assign(new EventEmitter(), { destroyed: true })

  test.each<[string, Life[], boolean]>([
    ['finishes and closes', [emits('finish', ended), emits('close')], true],
    ['finishes, and never closes', [emits('finish', ended)], true],
    ['finishes before it has ended (serverless-http)', [emits('finish'), emits('close')], true],
    ['closes, and never finishes', [emits('close', ended)], true],
    ['was destroyed before it finished', [emits('close', { ...ended, destroyed: true })], false],
    ['lost its socket first', [emits('close', { ...ended, req: { socket } }), emits('x')], false],
    ['closes before it has ended', [emits('close')], false],
  ])('that %s is over, once, also for late callers', (_, life, finished) => {
    const response = new NodeLikeResponse()
    const seen: ResponseOutcome[] = []
    afterNodeResponse(response, (outcome) => seen.push(outcome))
    expect(seen).toEqual([])
    for (const act of life) act(response)
    expect(seen).toEqual([{ status: response.statusCode, finished }])
    afterNodeResponse(response, (outcome) => seen.push(outcome))
    expect(seen).toEqual([seen[0], seen[0]])
  })

  test.each<[string, object, boolean]>([
    ['has closed', { closed: true }, false],
    ['has been sent', { writableEnded: true, writableFinished: true }, true],
    ['has lost its socket', { writableEnded: true, req: { socket } }, false],
  ])('that %s before the first look is over at once', (_, state, finished) => {
    const seen: ResponseOutcome[] = []
    const response = Object.assign(new NodeLikeResponse(), state)
    afterNodeResponse(response, (outcome) => seen.push(outcome))
    expect(seen).toEqual([{ status: 200, finished }])
  })

  test('may have a socket that is no emitter', () => {
    const response = Object.assign(new NodeLikeResponse(), {
      req: { socket: { destroyed: false } },
    })
    const seen: ResponseOutcome[] = []
    afterNodeResponse(response, (outcome) => seen.push(outcome))
    response.emit('finish')
    expect(seen).toEqual([{ status: 200, finished: true }])
  })

  test.each<[string, object]>([
    ['has no listeners', { once: undefined }],
    ['ignores its listeners', { once: () => undefined, listenerCount: undefined }],
    [
      'throws for listeners',
      {
        once: () => {
          throw new Error('no')
        },
      },
    ],
  ])('that %s is refused', (_, parts) => {
    const response = Object.assign(new NodeLikeResponse(), parts)
    for (let i = 0; i < 2; i += 1)
      expect(() => afterNodeResponse(response, () => {})).toThrow(Error)
  })
})

describe('HTTP/1', () => {
  type Handler = (response: ServerResponse) => void
  const LARGE = Buffer.alloc(20_000_000)

  test.each<[string, string, Handler, ResponseOutcome, leaves?: boolean]>([
    ['was sent', 'GET', (res) => res.writeHead(201).end('ok'), { status: 201, finished: true }],
    ['answers HEAD', 'HEAD', (res) => res.end(), { status: 200, finished: true }],
    ['has no body', 'GET', (res) => res.writeHead(304).end(), { status: 304, finished: true }],
    ['was destroyed', 'GET', (res) => res.destroy(), { status: 200, finished: false }],
    [
      'broke off',
      'GET',
      (res) => res.write('a', () => res.destroy()),
      { status: 200, finished: false },
    ],
    ['was left before an answer', 'GET', () => {}, { status: 200, finished: false }, true],
    [
      'was left within the answer',
      'GET',
      (res) => res.write('a'),
      { status: 200, finished: false },
      true,
    ],
    [
      'was left before all was read',
      'GET',
      (res) => res.end(LARGE),
      { status: 200, finished: false },
      true,
    ],
  ])('a response that %s has ended so', async (_, method, handler, outcome, leaves = false) => {
    const server = createHttpServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = connectTcp((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => undefined)
    onTestFinished(() => {
      socket.destroy()
      server.close()
    })
    socket.write(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`)
    const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
    expect(hasNodeConnection(response)).toBe(true)
    const seen = new Promise((resolve) => afterNodeResponse(response, resolve))
    handler(response)
    if (leaves) socket.destroy()
    expect(await seen).toEqual(outcome)
  })
})

describe('pipelined requests', () => {
  /** Sends this many requests at once over one connection, and returns their responses. */
  async function pipelined(
    count: number,
  ): Promise<{ responses: ServerResponse[]; socket: Socket; served: Socket }> {
    const server = createHttpServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = connectTcp((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => undefined).resume()
    onTestFinished(() => {
      socket.destroy()
      server.close()
    })
    const responses: ServerResponse[] = []
    const all = new Promise<void>((resolve) => {
      server.on('request', (_, response) => {
        if (responses.push(response) === count) resolve()
      })
    })
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(count))
    await all
    return { responses, socket, served: responses[0]?.req.socket as Socket }
  }

  test.each<[string, (socket: Socket) => void]>([
    ['destroys', (socket) => void socket.destroy()],
    ['resets', (socket) => void socket.resetAndDestroy()],
    ['ends', (socket) => void socket.end()],
  ])('all are over, exactly once, when their client %s its connection', async (_, leave) => {
    const { responses, socket, served } = await pipelined(30)
    const seen = new Map<ServerResponse, ResponseOutcome[]>()
    for (const response of responses) {
      seen.set(response, [])
      for (let i = 0; i < 2; i += 1)
        afterNodeResponse(response, (outcome) => void seen.get(response)?.push(outcome))
    }
    // A connection has one more listener than Node's own.
    expect(served.listenerCount('close')).toBeLessThan(5)
    const closed = new Promise((resolve) => served.once('close', resolve))
    leave(socket)
    await closed
    await new Promise((resolve) => setImmediate(resolve))
    const cut = { status: 200, finished: false }
    for (const outcomes of seen.values()) expect(outcomes).toEqual([cut, cut])
    // A response that is asked about now has been over for a long time.
    const late: ResponseOutcome[] = []
    afterNodeResponse(responses[9] as ServerResponse, (outcome) => late.push(outcome))
    expect(late).toEqual([cut])
  })

  test('those that were answered before the connection closed have ended as they did', async () => {
    const { responses, socket, served } = await pipelined(4)
    const seen: string[] = []
    for (const [i, response] of responses.entries())
      afterNodeResponse(response, ({ status, finished }) =>
        seen.push(`${i}: ${status} ${finished}`),
      )
    const [first, second, third] = responses as [ServerResponse, ServerResponse, ServerResponse]
    first.writeHead(201).end()
    await once(first, 'close')
    expect(seen).toEqual(['0: 201 true'])
    // It has ended, but behind one that has not, so it was never sent.
    third.writeHead(404).end()
    expect(second.writableEnded).toBe(false)
    const closed = new Promise((resolve) => served.once('close', resolve))
    socket.destroy()
    await closed
    await new Promise((resolve) => setImmediate(resolve))
    expect(seen.toSorted()).toEqual(['0: 201 true', '1: 200 false', '2: 404 false', '3: 200 false'])
  })
})
