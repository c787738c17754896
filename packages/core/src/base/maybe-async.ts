// Values that may have to be waited for. Promises only where something has to be.

/** A value, or a promise of it. */
export type Awaitable<Value> = Value | PromiseLike<Value>

/**
 * Whether a value has to be waited for: by its `then`, so that promises of other libraries are
 * recognised.
 */
export function isPromise<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  // Most values are a key, a number or nothing, and are known by their type: each kind of value
  // that is asked for a property makes the asking slower for all.
  if (value == null || typeof value === 'string' || typeof value === 'number') return false
  return typeof (value as PromiseLike<Value>).then === 'function'
}

/**
 * Goes on with a value: at once if nothing has to be waited for, so that such a request is decided
 * in the turn of the event loop in which it came.
 */
export function whenKnown<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}
