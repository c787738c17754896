// Promises only where something has to be waited for.

import { isPromise } from './promise.js'
import type { Awaitable } from '../http/options.js'

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
