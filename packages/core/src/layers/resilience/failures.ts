// What a failure means: that a node cannot decide, or that one key cannot be decided.

import { quote, StoreError } from '../../base/errors.js'
import type { BreakerState } from './breaker.js'

/**
 * Replies of Redis that concern one key or call, not the node. Nodes that redirect a call to each
 * other while its slot moves, until the client gives up, are well; a last MOVED, however, may lead
 * to a node that is away. An error of the script does not concern the node either, unless the
 * server refused one of the script's commands: Redis before 7 reports that as `... user_script:12:
 * -OOM command not allowed`.
 */
const KEY_LEVEL =
  /^(WRONGTYPE|CROSSSLOT|TRYAGAIN)\b|Last error: ReplyError: (TRYAGAIN|ASK)|user_script:\d+: (?!-|@)/

/** The failure of a call as a StoreError. An error with one of Weir's codes stays as it is. */
export function storeFailure(cause: unknown, store: string): Error {
  if (cause instanceof Error && codeOf(cause).startsWith('WEIR_')) return cause
  const reason = quote(cause instanceof Error ? cause.message : cause)
  return new StoreError('WEIR_STORE_FAILED', `${store} could not decide: ${reason}`, { cause })
}

/** Read from the code, not the class: a store may come from this package's other build, CommonJS or
 *  ESM. */
function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code)
}

/** What the store, the connection or the client said, quoted. */
export function reasonOf(error: unknown): string {
  const { cause } = (error ?? {}) as { cause?: unknown }
  const told = cause instanceof Error ? cause : error
  return quote(told instanceof Error ? told.message : told)
}

/** What failures of one kind share: the code of an error reply, such as `OOM`, or `no reply`. */
export function kindOfFailure(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  return (cause instanceof Error && /^-?([A-Z]{3,})\b/.exec(cause.message)?.[1]) || 'no reply'
}

/** Whether the breaker counts it: all failures except those that concern one key. */
export function concernsNode(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: unknown }
  const isOfKey = cause instanceof Error && KEY_LEVEL.test(cause.message)
  return codeOf(error) === 'WEIR_STORE_FAILED' && !isOfKey
}

/** Whether the server has replied that it did nothing. After any other failure, it may have done
 *  it. */
export function isRefusal(error: unknown): boolean {
  if (codeOf(error) === 'WEIR_FOREIGN_KEY') return true
  return error instanceof Error && error.name === 'ReplyError'
}

/** Whether a request was wrong, and not the store. */
export function isMisuse(error: unknown): boolean {
  return !['WEIR_STORE_FAILED', 'WEIR_FOREIGN_KEY'].includes(codeOf(error))
}

export function timedOut(afterMs: number, store: string): StoreError {
  return new StoreError('WEIR_STORE_FAILED', `${store} did not answer within ${afterMs} ms`)
}

/** Why a node is not asked, by the state of its breaker. */
export interface Reasons {
  /** One error for all decisions: making two, with a stack each, takes longer than the decision. */
  of(state: BreakerState): Error
  /** The error for one request alone, a copy if it is shared: frameworks write to errors that they
   *  catch. */
  ownOf(error: unknown, state: BreakerState): unknown
}

export function reasonsFor(store: string): Reasons {
  const known: Partial<Record<BreakerState, Error>> = {}
  const make = (state: BreakerState): Error =>
    storeFailure(new Error(`its circuit breaker is ${state}`), store)
  return {
    of(state) {
      known[state] ??= make(state)
      return known[state]
    },
    ownOf: (error, state) => (error === known[state] ? make(state) : error),
  }
}
