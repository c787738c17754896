// A call of a handler as core/http reads it, whatever transport it came over.

import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import { afterNodeResponse, type HttpAdapter, type RequestDecision } from '@weir/core/http'
import { isMessage, placedOnMessage, placeOnMessage, upgradeOf } from './message.js'
import type { NestRequest } from './options.js'
import { trustOf } from './trust.js'

/** A response of Express or Fastify, or Node's own. */
export type NestResponse = NestRequest

export interface Looked {
  readonly request: NestRequest
  /** Absent where headers have nowhere to go. */
  readonly response: NestResponse | undefined
}

/** Where each kind of context has its request and its response, if it has one. */
export function lookUp(context: ExecutionContext): Looked {
  const args = context.getArgs()
  const [first, second] = args
  const type = context.getType<string>()
  if (type === 'http') return { request: first ?? {}, response: writable(second) }
  if (type === 'rpc') return { request: second ?? {}, response: undefined }
  if (type !== 'graphql') return { request: first ?? {}, response: undefined }
  const third = args[2] ?? {}
  const { req, request, reply, res, response } = third
  return {
    request: upgradeOf(context) ?? req ?? request ?? reply?.request ?? third,
    response: writable(res ?? response ?? reply),
  }
}

/** Libraries make contexts of other things and call them HTTP. */
function writable(response: NestResponse | undefined): NestResponse | undefined {
  const can = typeof response?.header === 'function' || typeof response?.setHeader === 'function'
  return can ? response : undefined
}

/**
 * The binding decision on this request or message, with those of all its limiters in `all`.
 * `property`: the `requestProperty` of its limiters, where they have one.
 */
export const RateLimitDecision: (property?: string) => ParameterDecorator = createParamDecorator(
  (property: string | undefined, context: ExecutionContext): RequestDecision | undefined =>
    isMessage(context)
      ? placedOnMessage(context)
      : lookUp(context).request[property ?? 'rateLimit'],
)

export const nest: HttpAdapter<NestRequest, NestResponse, [ExecutionContext]> = {
  address: (request) => request.ip ?? request.handshake?.address ?? peerOf(request),
  peer: peerOf,
  trust: trustOf,
  method: ({ method }) => (typeof method === 'string' ? method.toUpperCase() : ''),
  header: (request, name) => headersOf(request)[name]?.toString(),
  headers: headersOf,
  placed: (request, [context], property) =>
    isMessage(context) ? placedOnMessage(context) : request[property],
  place: (request, decision, [context], property) => {
    if (isMessage(context)) placeOnMessage(context, decision)
    else (request as Record<string, unknown>)[property] = decision
  },
  headersSent: (response) =>
    response.headersSent === true || response.raw?.headersSent === true || response.sent === true,
  // Fastify's `header` and Node's `setHeader` replace, and so does Express's `header`.
  setHeader: (response, name, value) => {
    if (response.header) response.header(name, value)
    else response.setHeader(name, value)
  },
  afterResponse: (response, done) => afterNodeResponse(response.raw ?? response, done),
}

function headersOf({ headers, handshake }: NestRequest): Readonly<Record<string, unknown>> {
  return headers ?? handshake?.headers ?? {}
}

/** HTTP and ws have a Node socket, socket.io a connection, TCP microservices a wrapped socket. */
function peerOf(request: NestRequest): string | undefined {
  const { socket, _socket, conn } = request
  return (socket ?? _socket ?? conn ?? request.getSocketRef?.()?.socket)?.remoteAddress
}
