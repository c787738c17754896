// What is thrown when a request is refused, and what each transport sends then.

import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  HttpStatus,
} from '@nestjs/common'
import type { Decision, ErrorCode } from '@weir/core'
import type { Refusal } from '@weir/core/http'
import { throwError } from 'rxjs'
import type { NestRequest } from './options.js'
import { type NestResponse, nest } from './request.js'

/**
 * The status and the body of `getResponse()` are those of the refusal; headers are on the response
 * already.
 */
export class RateLimitException extends HttpException {
  readonly refusal: Refusal
  /** Absent where no limit was asked, as for addresses on the deny list. */
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

/**
 * Answers a refused request: over HTTP with status, media type and body; in a gateway with the
 * event `exception`; from a microservice with an error. The module registers it as the last of the
 * global filters, so any other goes before it. Nest runs no global filters for gateways: there,
 * `@UseFilters(RateLimitFilter)`.
 */
@Catch(RateLimitException)
export class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  catch(exception: RateLimitException, host: ArgumentsHost): unknown {
    const { refusal, message, extensions } = exception
    const [client, response] = host.getArgs()
    const type = host.getType<string>()
    const error = { status: 'error', message, ...extensions }
    if (type === 'rpc') return throwError(() => error)
    if (type === 'ws') return send(client, error)
    if (type !== 'http') throw exception
    if (!nest.headersSent(response)) reply(response, refusal)
    return undefined
  }
}

/** Sockets of ws have no events; this is Nest's own form for them. */
function send(client: NestRequest, data: object): void {
  if (typeof client.readyState === 'number')
    client.send(JSON.stringify({ event: 'exception', data }))
  else client.emit('exception', data)
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
  return Object.assign(new TypeError(message), { code })
}
