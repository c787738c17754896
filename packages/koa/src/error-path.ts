// Koa drops every header when something throws, and sends those of `error.headers` instead.

import { afterNodeResponse } from '@weir/core/http'
import type { ParameterizedContext } from 'koa'

/** A context of any app. */
export type AnyContext = ParameterizedContext<unknown, unknown>

type Headers = Readonly<Record<string, string>>
type HttpError = Error & { headers?: Headers | undefined }

const OURS: unique symbol = Symbol('weir.headers')

/** Notes a header that a limiter has set. */
export function remember(ctx: AnyContext & { [OURS]?: Headers }, name: string, value: string): void {
  ctx[OURS] = { ...ctx[OURS], [name]: value }
}

/** For whom an error has limiters' headers at present, and what it had without them. */
const marks: WeakMap<Error, { readonly ctx: AnyContext; readonly own: Headers | undefined }> = new WeakMap()

/** Puts the limiters' headers on an error that is on its way to Koa; those that it has itself go before them. */
export function keepOnError(thrown: unknown, ctx: AnyContext & { readonly [OURS]?: Headers }): void {
  const ours = ctx[OURS]
  if (ours === undefined || !(thrown instanceof Error) || !Object.isExtensible(thrown)) return
  const error: HttpError = thrown
  const mark = marks.get(error)
  if (mark?.ctx === ctx) {
    // An inner limiter was here, and others may have been since.
    error.headers = { ...ours, ...error.headers }
    return
  }
  // One error object may be thrown for many requests: it must not carry a client's figures to the next one.
  const own = mark === undefined ? error.headers : mark.own
  marks.set(error, { ctx, own })
  error.headers = { ...ours, ...own }
  afterNodeResponse(ctx.res, () => {
    if (marks.get(error)?.ctx !== ctx) return
    marks.delete(error)
    error.headers = own
  })
}
