// The page for Node's servers: Express, Koa, middie, node:http.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalidRequest } from '../act/problem.js'
import { checkLength, jsonOf } from './body.js'
import type { Answer, PageRequest, Reader } from './exchange.js'
import { type Place, placeOf } from './place.js'
import { answerTo, isRoute, type Serving } from './routes.js'

/** Takes requests that are not the page's. */
export type Next = (error?: unknown) => unknown

export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: Next) => void

export function nodeHandler(serving: Serving, path: string): NodeHandler {
  return (request, response, next) => {
    const { originalUrl } = request as { originalUrl?: unknown }
    const original = typeof originalUrl === 'string' ? originalUrl : undefined
    const place = placeOf(request.url ?? '/', original, path)
    const isOurs = place !== undefined && isRoute(place.path)
    if (!isOurs && next !== undefined) {
      next()
      return
    }
    const pageRequest = pageRequestOf(request, place ?? { base: '', path: '?', query: '' })
    answerTo(serving, pageRequest)
      .then((answer) => write(answer, request, response))
      .catch(() => response.destroy())
  }
}

function pageRequestOf(request: IncomingMessage, place: Place): PageRequest {
  const header = (name: string): string | undefined => {
    // HTTP/2 has its host elsewhere.
    const other = name === 'host' ? request.headers[':authority'] : undefined
    const value = request.headers[name] ?? other
    return Array.isArray(value) ? value[0] : value
  }
  const isEncrypted = 'encrypted' in request.socket && request.socket.encrypted === true
  return {
    ...place,
    method: request.method ?? 'GET',
    isSecure: isEncrypted || /^https\b/i.test(header('x-forwarded-proto') ?? ''),
    original: request,
    header,
    async json() {
      // A body parser may have read the body before.
      const { body } = request as { body?: unknown }
      if (body !== undefined && request.readableEnded) return body
      if (request.readableEnded)
        throw invalidRequest('the body was read before; mount the dashboard before body parsers')
      checkLength(header('content-length'))
      // Destroying the request would also destroy the connection, and so the answer.
      return jsonOf(request.iterator({ destroyOnReturn: false }))
    },
  }
}

function write(answer: Answer, request: IncomingMessage, response: ServerResponse): void {
  if (response.destroyed || response.headersSent) {
    response.end()
    return
  }
  response.statusCode = answer.status
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value)
  if ('open' in answer) {
    stream(answer.open, response)
    return
  }
  // A refused body may still be arriving: closing the connection ends it.
  if (!request.complete && request.httpVersionMajor < 2) response.setHeader('Connection', 'close')
  if (answer.status !== 304) response.setHeader('Content-Length', Buffer.byteLength(answer.body))
  response.end(request.method === 'HEAD' ? undefined : answer.body)
}

function stream(open: (reader: Reader) => () => void, response: ServerResponse): void {
  response.flushHeaders()
  const leave = open(readerOf(response))
  response.on('close', leave)
  response.on('error', leave)
  if (response.destroyed) leave()
}

/** A reader that buffers at most one text. */
export function readerOf(response: ServerResponse): Reader {
  let hasBegun = false
  return {
    send(text) {
      // Before the first text, the head may still be in the buffer.
      if (response.destroyed || (hasBegun && response.writableLength > 0)) return false
      hasBegun = true
      response.write(text)
      return true
    },
    end() {
      if (response.writableLength > 0) response.destroy()
      else response.end()
    },
  }
}
