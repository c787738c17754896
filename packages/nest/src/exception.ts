// The exception for a refused request, and what each transport then sends.

import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  HttpStatus,
} from '@nestjs/common'
import type { Decision, ErrorCode } from '@weir/core'
import type { Refusal } from '@weir/core/http'
import { withPage } from '@weir/core/internal'
import { throwError } from 'rxjs'
import { grpcCallOf } from './message.js'
import type { NestRequest } from './options.js'
import { type NestResponse, nest, writable } from './request.js'

/**
 * Thrown when a request is refused, with the refusal's status and, as `getResponse()`, its body.
 * The headers are already on the response.
 */
export class RateLimitException extends HttpException {
  readonly refusal: Refusal
  /** Absent where no limiter decided, as for addresses on the deny list. */
  readonly decision: Decision | undefined
  /** What GraphQL puts beside the message. */
  readonly extensions: { readonly code: string; readonly retryAfterMs?: number }

  constructor(refusal: Refusal) {
    super(refusal.content, refusal.status)
    const { content, decision, status, retryAfterMs } = refusal
    if (typeof content === 'object' && 'title' in content) this.message = String(content.title)
    this.refusal = refusal
    this.decision = decision
    this.extensions = {
      code: HttpStatus[status] ?? 'REFUSED',
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    }
  }
}

/** Apollo's driver turns an exception whose response has a statusCode into
 *  INTERNAL_SERVER_ERROR. */
export function withoutStatusCode(refusal: Refusal): Refusal {
  const { content } = refusal
  if (typeof content !== 'object' || !('statusCode' in content)) return refusal
  const { statusCode: _, ...others } = content
  return { ...refusal, content: others }
}

/**
 * Answers a refused request, as the last of all global filters. Nest runs none for gateways: there,
 * use `@UseFilters(RateLimitFilter)`.
 */
@Catch(RateLimitException)
export class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  catch(exception: RateLimitException, host: ArgumentsHost): unknown {
    const { refusal, message, extensions } = exception
    const type = host.getType<string>()
    const error = { status: 'error', message, ...extensions }
    if (type === 'rpc') return throwError(() => grpcError(exception, host) ?? error)
    if (type === 'ws') return send(host, error)
    const response = type === 'http' ? writable(host.switchToHttp().getResponse()) : undefined
    if (response === undefined) throw exception
    if (nest.headersSent(response)) cutOff(response.raw ?? response)
    else reply(response, refusal)
    return undefined
  }
}

/** Sends an error with its cause, like Nest's own errors. */
function send(host: ArgumentsHost, error: object): void {
  const ws = host.switchToWs()
  const client = ws.getClient<NestRequest>()
  const data = { ...error, cause: { pattern: ws.getPattern(), data: ws.getData() } }
  const acknowledge: unknown = host.getArgByIndex(2)
  if (typeof acknowledge === 'function') acknowledge(data)
  // ws sockets have no events; this is Nest's own form for them.
  if (typeof client.readyState === 'number')
    client.send(JSON.stringify({ event: 'exception', data }))
  else client.emit('exception', data)
}

/** gRPC's codes by HTTP status: INVALID_ARGUMENT, PERMISSION_DENIED, UNAVAILABLE. */
const GRPC_CODES: Readonly<Record<number, number>> = { 400: 3, 403: 7, 503: 14 }
const RESOURCE_EXHAUSTED = 8

/** The error that answers a gRPC call. */
function grpcError({ refusal, message }: RateLimitException, host: ArgumentsHost): unknown {
  const call = grpcCallOf(host)
  if (call === undefined) return undefined
  const { status, retryAfterMs } = refusal
  const metadata = new call.metadata.constructor()
  if (retryAfterMs !== undefined) metadata.set('retry-after-ms', String(Math.ceil(retryAfterMs)))
  return { code: GRPC_CODES[status] ?? RESOURCE_EXHAUSTED, details: message, message, metadata }
}

/** Ends a response that has begun, since no handler will. Fastify itself ends one that it has not
 *  sent yet. */
function cutOff(response: NestResponse): void {
  if (response.headersSent && !response.writableEnded) response.destroy()
}

function reply(response: NestResponse, { status, mediaType, body }: Refusal): void {
  if (response.raw) {
    // Fastify would add a charset to the media type of a text.
    response.code(status).header('Content-Type', mediaType).send(Buffer.from(body))
    return
  }
  Object.assign(response, { statusCode: status }).setHeader('Content-Type', mediaType)
  // Not Express's `send`, which would add an ETag and a charset.
  response.end(body)
}

/** Misuse that is found at start. */
export function invalid(message: string, code: ErrorCode = 'WEIR_INVALID_OPTION'): TypeError {
  return Object.assign(new TypeError(withPage(code, message)), { code })
}
