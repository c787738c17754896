/** Whether a value has to be waited for; by what it does, so that promises of other makes are seen, too. */
export function isPromise<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return typeof (value as PromiseLike<Value> | null | undefined)?.then === 'function'
}
