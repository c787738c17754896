// Koa drops every header when something throws, and sends those of `error.headers` instead.

import type { ParameterizedContext } from 'koa'

/** A context of any app. */
export type AnyContext = ParameterizedContext<unknown, unknown>

type Headers = Readonly<Record<string, string>>
type HttpError = Error & { headers?: Headers | undefined }

const OURS: unique symbol = Symbol('weir.headers')

/** Notes a header that a limiter has set, so that it is sent whatever is thrown. */
export function remember(ctx: AnyContext & { [OURS]?: Headers }, name: string, value: string): void {
  if (ctx[OURS] === undefined) keepOnError(ctx)
  ctx[OURS] = { ...ctx[OURS], [name]: value }
}

/**
 * Gives the error our headers while Koa answers with it, which it does in one go: one error object may be thrown for many
 * requests at a time, and none must be told the figures of another. Those that the error has itself go before ours.
 */
function keepOnError(ctx: AnyContext & { readonly [OURS]?: Headers }): void {
  const { onerror } = ctx
  ctx.onerror = (error: HttpError | null) => {
    if (typeof error !== 'object' || error === null) return onerror.call(ctx, error as never)
    const own = Object.getOwnPropertyDescriptor(error, 'headers')
    // Reflect, as it leaves a frozen error as it is.
    Reflect.defineProperty(error, 'headers', {
      value: { ...ctx[OURS], ...error.headers },
      configurable: true,
    })
    try {
      onerror.call(ctx, error)
    } finally {
      if (own) Reflect.defineProperty(error, 'headers', own)
      else Reflect.deleteProperty(error, 'headers')
    }
  }
}
