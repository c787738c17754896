// What a failure of Redis means: that the node cannot decide, or that one key cannot be decided.

import { quote, StoreError } from '../../base/errors.js'

/**
 * Replies that concern one key or call; the node is well. An error of the script itself, too: unless the server refused one
 * of its commands, which Redis before 7 tells as `... user_script:12: -OOM command not allowed`.
 */
const KEY_LEVEL =
  /^(WRONGTYPE|CROSSSLOT|TRYAGAIN)\b|Last error: ReplyError: TRYAGAIN|user_script:\d+: (?!-|@)/

/** The failure of a call as a StoreError. */
export function storeFailure(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new StoreError('WEIR_STORE_FAILED', `Redis could not decide: ${quote(reason)}`, { cause })
}

/** What Redis, the connection or the client said, quoted. */
export function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  return quote(
    cause instanceof Error ? cause.message : error instanceof Error ? error.message : error,
  )
}

/** Of several failures the same: the code of an error reply, such as `OOM`, or `no reply`. */
export function kindOfFailure(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  return (cause instanceof Error && /^-?([A-Z]{3,})\b/.exec(cause.message)?.[1]) || 'no reply'
}

/** Whether the breaker is to know: all failures but those that concern one key. */
export function concernsNode(error: StoreError): boolean {
  if (error.code === 'WEIR_FOREIGN_KEY') return false
  const { cause } = error
  return !(cause instanceof Error && KEY_LEVEL.test(cause.message))
}

/**
 * Nothing ran, because keys of the call are on their way to another node; one by one they can be decided. ioredis tries again
 * by itself, and tells in the end that there were too many redirections: what it was sent from node to node by was the same.
 */
export function mustSplit(error: StoreError): boolean {
  return (
    error.cause instanceof Error &&
    /^(TRYAGAIN|Too many Cluster redirections)/.test(error.cause.message)
  )
}

export function timedOut(afterMs: number): StoreError {
  return new StoreError('WEIR_STORE_FAILED', `Redis did not answer within ${afterMs} ms`)
}

/**
 * What the promise resolves to, unless that takes longer.
 * @param afterAll called if it resolves when nobody waits any more
 * @throws {StoreError} when it takes longer
 */
export async function withDeadline<Value>(
  promise: Promise<Value>,
  ms: number,
  afterAll?: (value: Value) => void,
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let late = false
  const tooLate = new Promise<never>((_, reject) => {
    const expire = (): void => {
      late = true
      reject(timedOut(ms))
    }
    // An event loop that was held up is not a slow server: a reply that is there already comes first, as in deadlines.ts.
    timer = setTimeout(() => setImmediate(() => setImmediate(expire)), ms)
    timer.unref?.()
  })
  promise.then(
    (value) => {
      if (late) afterAll?.(value)
    },
    () => {},
  )
  try {
    return await Promise.race([promise, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
