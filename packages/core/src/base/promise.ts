/** Whether a value has to be waited for; by what it does, so that promises of other makes are seen, too. */
export function isPromise<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  // Most values are a key, a number or nothing, and are told by their type: each kind of value that is asked for a property
  // makes the asking slower for all.
  if (
    value === undefined ||
    value === null ||
    typeof value === 'string' ||
    typeof value === 'number'
  )
    return false
  return typeof (value as PromiseLike<Value>).then === 'function'
}
