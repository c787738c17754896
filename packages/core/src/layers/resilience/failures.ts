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

const OF_THE_NODE = ['WEIR_STORE_FAILED', 'WEIR_NO_SCRIPTS']

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

/** What the store, the connection or the client said, quoted, without the page. */
export function reasonOf(error: unknown): string {
  const { cause } = (error ?? {}) as { cause?: unknown }
  const told = cause instanceof Error ? cause : error
  return quote(told instanceof Error ? told.message.replace(/ \(see \S+\)$/, '') : told)
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
  return OF_THE_NODE.includes(codeOf(error)) && !isOfKey
}

/** Whether the server has replied that it did nothing. After any other failure, it may have done
 *  it. */
export function isRefusal(error: unknown): boolean {
  if (['WEIR_FOREIGN_KEY', 'WEIR_NO_SCRIPTS'].includes(codeOf(error))) return true
  return error instanceof Error && error.name === 'ReplyError'
}

/** Whether a request was wrong, and not the store. */
export function isMisuse(error: unknown): boolean {
  return ![...OF_THE_NODE, 'WEIR_FOREIGN_KEY'].includes(codeOf(error))
}

export function timedOut(afterMs: number, store: string): StoreError {
  return new StoreError('WEIR_STORE_FAILED', `${store} did not answer within ${afterMs} ms`)
}

/**
 * Why a node is not asked.
 * @param cause how it failed last, if it has
 */
export function notAsked(state: BreakerState, cause: unknown, store: string): StoreError {
  const told = cause instanceof Error ? cause : undefined
  const options = told && { cause: told.cause ?? told }
  if (codeOf(told) === 'WEIR_NO_SCRIPTS')
    return new StoreError('WEIR_NO_SCRIPTS', String(told?.message), options)
  const why = told === undefined ? '' : ` after ${reasonOf(told)}`
  const problem = `${store} could not decide: its circuit breaker is ${state}${why}`
  return new StoreError('WEIR_STORE_FAILED', problem, options)
}
