// Where the decision on a message is kept, as it has no request of its own: on its payload, or else
// on its socket; for a GraphQL subscription on its context, as others share the request that opened
// its socket.

import type { ExecutionContext } from '@nestjs/common'
import type { RequestDecision } from '@weir/core/http'
import type { NestRequest } from './options.js'
import { DECIDED } from './tokens.js'

interface Decided {
  /** Distinguishes a message from others on its socket. */
  readonly args: unknown
  readonly decision: RequestDecision | undefined
}

export function isMessage(context: ExecutionContext): boolean {
  const type = context.getType<string>()
  return type === 'graphql' ? upgradeOf(context) !== undefined : type !== 'http'
}

/**
 * The request that opened the socket of a GraphQL subscription. Nest may put the context of
 * graphql-ws in as `req`.
 */
export function upgradeOf(context: ExecutionContext): NestRequest | undefined {
  const { extra, req } = context.getArgByIndex(2) ?? {}
  return (extra ?? req?.extra)?.request
}

/** A socket outlives its messages: what was decided on an earlier one is no part of this one's. */
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
  const [first, second, third] = context.getArgs()
  const all = context.getType<string>() === 'graphql' ? [third] : [second, first]
  return all.find((value) => typeof value === 'object' && value !== null) ?? {}
}
