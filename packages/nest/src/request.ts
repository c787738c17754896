// A handler's call as core/http reads it, over any transport.

import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import { type HttpAdapter, nodeResponses, type RequestDecision } from '@weir/core/http'
import {
  graphqlContextOf,
  grpcCallOf,
  isMessage,
  isRequest,
  placedOnMessage,
  placeOnMessage,
  upgradeOf,
} from './message.js'
import type { NestRequest } from './options.js'
import { trustOf } from './trust.js'

/** A response of Express or Fastify, or Node's own. */
export type NestResponse = NestRequest

export interface Looked {
  readonly request: NestRequest
  /** Absent where headers have nowhere to go. */
  readonly response: NestResponse | undefined
}

/** Finds the request of each kind of context, and its response, if it has one. */
export function lookUp(context: ExecutionContext): Looked {
  const type = context.getType<string>()
  if (type === 'http') {
    const http = context.switchToHttp()
    const request = http.getRequest() ?? {}
    return { request, response: isRequest(request) ? writable(http.getResponse()) : undefined }
  }
  if (type === 'rpc') {
    const request = grpcCallOf(context) ?? context.switchToRpc().getContext() ?? {}
    return { request, response: undefined }
  }
  if (type === 'ws') return { request: context.switchToWs().getClient(), response: undefined }
  if (type !== 'graphql') return { request: context.getArgByIndex(0) ?? {}, response: undefined }
  const graphql = graphqlContextOf(context)
  const { req, request, reply, res, response } = graphql
  return {
    request: upgradeOf(context) ?? req ?? request ?? reply?.request ?? graphql,
    response: writable(res ?? response ?? reply),
  }
}

/** The response, if headers can be written to it. */
export function writable(response: NestResponse | undefined): NestResponse | undefined {
  const can = typeof response?.header === 'function' || typeof response?.setHeader === 'function'
  return can ? response : undefined
}

/**
 * The binding decision on this request or message, with all its limiters' decisions in `all`;
 * undefined if none was made, as for clients on the allow list. `property`: the `requestProperty`
 * of its limiters, if they have one.
 */
export const RateLimitDecision: (property?: string) => ParameterDecorator = createParamDecorator(
  (property: string | undefined, context: ExecutionContext): RequestDecision | undefined => {
    return isMessage(context)
      ? placedOnMessage(context)
      : lookUp(context).request[property ?? 'rateLimit']
  },
)

/** An object that is the same for all guards and interceptors of a call. */
export function callOf(context: ExecutionContext): object {
  const isHttp = context.getType() === 'http' && !isMessage(context)
  return isHttp ? context.getArgByIndex(0) : context.getArgs()
}

export const nest: HttpAdapter<NestRequest, NestResponse, [ExecutionContext]> = {
  ...nodeResponses((response) => response.raw ?? response),
  address: (request) => request.ip ?? request.handshake?.address ?? peerOf(request),
  peer: peerOf,
  trust: trustOf,
  method: ({ method }) => (typeof method === 'string' ? method.toUpperCase() : ''),
  header: (request, name) => headersOf(request)[name]?.toString(),
  headers: headersOf,
  placed: (request, [context], property) =>
    isMessage(context)
      ? placedOnMessage(context)
      : // A decision of a middleware before Fastify is on Node's own request.
        (request[property] ?? request.raw?.[property]),
  place: (request, decision, [context], property) => {
    if (isMessage(context)) placeOnMessage(context, decision)
    else (request as Record<string, unknown>)[property] = decision
  },
  isShared: (_, [context]) => context.getType<string>() === 'graphql',
  headersSent: (response) =>
    response.headersSent === true || response.raw?.headersSent === true || response.sent === true,
  // Fastify's `header` and Node's `setHeader` replace, and so does Express's `header`.
  setHeader: (response, name, value) => {
    if (response.header) response.header(name, value)
    else response.setHeader(name, value)
  },
  removeHeader: (response, name) => response.removeHeader?.(name),
  call: (_, [context]) => callOf(context),
}

function headersOf({ headers, handshake }: NestRequest): Readonly<Record<string, unknown>> {
  return headers ?? handshake?.headers ?? {}
}

/** HTTP and ws have a Node socket, socket.io a connection, TCP microservices a wrapped socket; gRPC
 *  has a text with the port. */
function peerOf(request: NestRequest): string | undefined {
  const { socket, _socket, conn } = request
  const peer = request.getPeer?.().replace(/:\d+$/, '')
  return peer ?? (socket ?? _socket ?? conn ?? request.getSocketRef?.()?.socket)?.remoteAddress
}
