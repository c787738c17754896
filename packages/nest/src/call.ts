// One call of a handler, read through the eyes of core/http, whatever the call came over.

import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import { afterNodeResponse, type HttpAdapter, type RequestDecision, type Trust } from '@weir/core/http'
import type { NestRequest } from './options.js'
import { DECIDED } from './tokens.js'

/** A response of Express or Fastify, or Node's own. */
export type NestResponse = NestRequest

export interface Looked {
  readonly request: NestRequest
  /** Absent where headers have nowhere to go. */
  readonly response: NestResponse | undefined
}

/** A call that limiters are asked about. */
export class Call {
  readonly context: ExecutionContext
  readonly request: NestRequest
  readonly response: NestResponse | undefined
  readonly key: ((request: NestRequest, context: ExecutionContext) => unknown) | undefined
  constructor(context: ExecutionContext, { request, response }: Looked, key?: Call['key']) {
    this.context = context
    this.request = request
    this.response = response
    this.key = key
  }
}

/** Where each kind of context has its request and its response, if it has one. */
export function lookUp(context: ExecutionContext): Looked {
  const [first, second, third = {}] = context.getArgs()
  const type = context.getType<string>()
  if (type === 'http') return { request: first ?? {}, response: writable(second) }
  if (type === 'rpc') return { request: second ?? {}, response: undefined }
  if (type !== 'graphql') return { request: first ?? {}, response: undefined }
  const { req, request, reply, extra, res, response } = third
  return {
    request: req ?? request ?? reply?.request ?? extra?.request ?? third,
    response: writable(res ?? response ?? reply),
  }
}

/** Libraries make contexts of other things and call them HTTP. */
function writable(response: NestResponse | undefined): NestResponse | undefined {
  const can = typeof response?.header === 'function' || typeof response?.setHeader === 'function'
  return can ? response : undefined
}

/** What was decided on a message, and what of its call tells it from others. */
interface Decided {
  readonly args: unknown
  readonly decision: RequestDecision
}

/** Of a message: an object that lives no longer than it, if there is one. */
function carrierOf(context: ExecutionContext): { readonly [DECIDED]?: Decided } {
  const [first, second] = context.getArgs()
  return [second, first].find((value) => typeof value === 'object' && value !== null) ?? {}
}

function isMessage(context: ExecutionContext): boolean {
  return !['http', 'graphql'].includes(context.getType<string>())
}

/** The binding decision on this request or message, with those of all its limiters in `all`. */
export const RateLimitDecision: () => ParameterDecorator = createParamDecorator(
  (_: unknown, context: ExecutionContext): RequestDecision | undefined => {
    if (isMessage(context)) return carrierOf(context)[DECIDED]?.decision
    return lookUp(context).request.rateLimit
  },
)

export const nest: HttpAdapter<Call, NestResponse> = {
  address: ({ request }) => request.ip ?? request.handshake?.address ?? peerOf(request),
  peer: ({ request }) => peerOf(request),
  trust: ({ request }) => trustOf(request),
  method: ({ request }) => (typeof request.method === 'string' ? request.method.toUpperCase() : ''),
  header: ({ request }, name) => (request.headers ?? request.handshake?.headers)?.[name]?.toString(),
  placed: ({ context, request }) => {
    if (!isMessage(context)) return request.rateLimit
    const last = carrierOf(context)[DECIDED]
    // A socket outlives its messages: what was decided on an earlier one is no part of this one's.
    return last?.args === context.getArgs() ? last?.decision : undefined
  },
  place: ({ context, request }, decision) => {
    if (!isMessage(context)) Object.assign(request, { rateLimit: decision })
    else
      Reflect.defineProperty(carrierOf(context), DECIDED, {
        configurable: true,
        value: { args: context.getArgs(), decision },
      })
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

/** HTTP and ws have a Node socket, socket.io a connection, TCP microservices a wrapped socket. */
function peerOf(request: NestRequest): string | undefined {
  const { socket, _socket, conn } = request
  return (socket ?? _socket ?? conn ?? request.getSocketRef?.()?.socket)?.remoteAddress
}

function trustOf({ app, server }: NestRequest): Trust {
  const fastify = server?.initialConfig === undefined ? undefined : optionsOf(server)
  const trust = fastify ? fastify.trustProxy : app?.get?.('trust proxy')
  if (trust === true) return 'everybody'
  if (fastify && typeof trust === 'number' && trust > 0)
    return countsHops(server.version) ? 'listed' : 'inert'
  return trust ? 'listed' : 'nobody'
}

/** Fastify shows its trustProxy nowhere else. */
function optionsOf(server: object): { readonly trustProxy?: unknown } {
  for (let holder: object | null = server; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const symbol = Object.getOwnPropertySymbols(holder).find(
      ({ description }) => description === 'fastify.options',
    )
    if (symbol) return (holder as Record<symbol, object>)[symbol] as object
  }
  return { trustProxy: [] }
}

/** Since 5.12.1 a number of proxies trusts nobody. */
function countsHops(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number.parseFloat)
  return major * 1e6 + minor * 1e3 + patch < 5_012_001
}
