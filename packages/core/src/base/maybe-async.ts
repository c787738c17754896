// Values that may be promises. Promises are made only where something must be waited for.

/** A value, or a promise of it. */
export type Awaitable<Value> = Value | PromiseLike<Value>

/**
 * Whether a value must be awaited: whether it has a `then`, so that promises of other libraries are
 * recognised.
 */
export function isPromise<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  // Most values are a key, a number or nothing, and their type decides: each further kind of value
  // whose property is read makes that read slower for all.
  if (value == null || typeof value === 'string' || typeof value === 'number') return false
  return typeof (value as PromiseLike<Value>).then === 'function'
}

/**
 * Continues with a value: at once if it is not a promise, so that such a request is decided in the
 * turn of the event loop in which it arrived.
 */
export function whenKnown<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}
