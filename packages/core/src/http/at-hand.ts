// Promises only where something has to be waited for.

import type { Awaitable } from './options.js'

/**
 * Goes on with a value at once if it is at hand, so that a request that waits for nothing is decided in the turn of the
 * event loop in which it came.
 */
export function whenAtHand<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}

function isPromise<Value>(value: Awaitable<Value>): value is PromiseLike<Value> {
  return typeof (value as PromiseLike<Value> | null | undefined)?.then === 'function'
}
