// Keeps the decision on a message, which has no request of its own: on its payload, or else on its
// socket; for a GraphQL subscription on its context, because others share the request that opened
// its socket.

import type { ArgumentsHost, ExecutionContext } from '@nestjs/common'
import type { RequestDecision } from '@weir/core/http'
import type { NestRequest } from './options.js'
import { DECIDED } from './tokens.js'

interface Decided {
  /** Tells a message from others on its socket. */
  readonly args: unknown
  readonly decision: RequestDecision | undefined
}

/** Whether a context has no request of its own over HTTP. */
export function isMessage(context: ExecutionContext): boolean {
  const type = context.getType<string>()
  if (type === 'graphql') return upgradeOf(context) !== undefined
  return type !== 'http' || !hasRequest(context)
}

/** Whether a context is none of Nest's own kinds: other libraries make contexts for what they call,
 *  and some claim that these are HTTP. */
export function isForeign(context: ExecutionContext): boolean {
  const type = context.getType<string>()
  return type === 'http' ? !hasRequest(context) : !['graphql', 'ws', 'rpc'].includes(type)
}

/** Looks at what the framework has passed: a guard's own `lookUp` may turn that into another
 *  request. */
function hasRequest(context: ExecutionContext): boolean {
  return isRequest(context.getArgByIndex(0) ?? {})
}

export function isRequest({ method, headers }: NestRequest): boolean {
  return typeof method === 'string' && typeof headers === 'object'
}

/** A federation's references have no arguments, so everything else is one place further left. */
export function graphqlContextOf(context: ExecutionContext): NestRequest {
  return context.getArgByIndex(context.getArgs().length === 3 ? 1 : 2) ?? {}
}

/** A gRPC call: who calls, and metadata. */
export function grpcCallOf(host: ArgumentsHost): NestRequest | undefined {
  const call: NestRequest | undefined = host.getArgByIndex(2)
  return typeof call?.getPeer === 'function' ? call : undefined
}

/**
 * The request that opened a GraphQL subscription's socket. Nest may pass graphql-ws's context as
 * `req`.
 */
export function upgradeOf(context: ExecutionContext): NestRequest | undefined {
  const { extra, req } = graphqlContextOf(context)
  return (extra ?? req?.extra)?.request
}

/** A socket outlives its messages: an earlier message's decision must not count as this one's. */
export function beginMessage(context: ExecutionContext): void {
  if (carrierOf(context)[DECIDED]?.args !== context.getArgs()) placeOnMessage(context, undefined)
}

export function placeOnMessage(
  context: ExecutionContext,
  decision: RequestDecision | undefined,
): void {
  const value: Decided = { args: context.getArgs(), decision }
  Reflect.defineProperty(carrierOf(context), DECIDED, { configurable: true, value })
}

export function placedOnMessage(context: ExecutionContext): RequestDecision | undefined {
  return carrierOf(context)[DECIDED]?.decision
}

/** An object that lives no longer than the message, if there is one. */
function carrierOf(context: ExecutionContext): { readonly [DECIDED]?: Decided } {
  const [first, second] = context.getArgs()
  const all =
    context.getType<string>() === 'graphql' ? [graphqlContextOf(context)] : [second, first]
  return all.find((value) => typeof value === 'object' && value !== null) ?? {}
}
