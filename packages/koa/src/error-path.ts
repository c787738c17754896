// Koa drops every header when something throws, and sends those of `error.headers` instead.

import type { ParameterizedContext } from 'koa'

/** A context of any app. */
export type AnyContext = ParameterizedContext<unknown, unknown>

type HttpError = Error & { headers?: Readonly<Record<string, string>> | undefined }

const OURS: unique symbol = Symbol('weir.headers')

interface Remembered {
  readonly headers: Record<string, string>
  readonly onerror: AnyContext['onerror']
}

type Remembering = AnyContext & { [OURS]?: Remembered }

/** Remembers a header that a limiter has set, so that it is sent even if something throws. */
export function remember(ctx: Remembering, name: string, value: string): void {
  let ours = ctx[OURS]
  if (ours === undefined) {
    ours = { headers: {}, onerror: ctx.onerror }
    ctx[OURS] = ours
    ctx.onerror = answerWithOurs
  }
  ours.headers[name] = value
}

/** Does not send a header that was remembered. */
export function forget(ctx: Remembering, name: string): void {
  delete ctx[OURS]?.headers[name]
}

/**
 * Puts our headers on the error while Koa answers with it, which Koa does synchronously: one error
 * object may be thrown for many requests at a time, and none must get another's headers. The
 * error's own headers take precedence over ours.
 */
function answerWithOurs(this: Remembering, error: HttpError | null): unknown {
  const { headers, onerror } = this[OURS] as Remembered
  if (typeof error !== 'object' || error === null) return onerror.call(this, error as never)
  const own = Object.getOwnPropertyDescriptor(error, 'headers')
  // Reflect does not throw for a frozen error.
  Reflect.defineProperty(error, 'headers', {
    value: { ...headers, ...error.headers },
    configurable: true,
  })
  try {
    return onerror.call(this, error)
  } finally {
    if (own) Reflect.defineProperty(error, 'headers', own)
    else Reflect.deleteProperty(error, 'headers')
  }
}
