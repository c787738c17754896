// Warnings about a set-up that works but is surely not intended. Each is given once, as a process
// warning, so that `node --disable-warning=WEIR_...` silences it by its code. docs/errors.md has a
// section for each.

import { quote, withPage } from './errors.js'
import { isPromise } from './maybe-async.js'

/** The code of a warning, for `node --disable-warning=<code>`. */
export type WarningCode =
  | 'WEIR_SHARED_NAME'
  | 'WEIR_LIMIT_IN_NAME'
  | 'WEIR_CHANGED_ALGORITHM'
  | 'WEIR_POLICY_FAILED'
  | 'WEIR_UNSAFE_REDIS_OPTION'
  | 'WEIR_OBSERVER_FAILED'
  | 'WEIR_SIGNAL_FAILED'
  | 'WEIR_STORE_DEGRADED'
  | 'WEIR_NOT_PERMITTED'
  | 'WEIR_NO_SCRIPTS'
  | 'WEIR_PEERS_UNKNOWN'
  | 'WEIR_NO_ADDRESS'
  | 'WEIR_NO_KEY'
  | 'WEIR_UNKNOWN_PRIORITY'
  | 'WEIR_RAW_ADDRESS'
  | 'WEIR_FORWARDED_IGNORED'
  | 'WEIR_TRUST_ALL'
  | 'WEIR_TRUST_INERT'
  | 'WEIR_MEMORY_IN_CLUSTER'
  | 'WEIR_MEMORY_IN_FUNCTION'
  | 'WEIR_UNLIKELY_TIME'
  | 'WEIR_MADE_IN_REQUEST'
  | 'WEIR_MOUNTED_TWICE'
  | 'WEIR_SHORT_NAME'
  | 'WEIR_REFUND_FAILED'
  | 'WEIR_SETTLE_FAILED'
  | 'WEIR_NO_END'
  | 'WEIR_SHADOW_FAILED'
  | 'WEIR_SETTINGS_UNREAD'
  | 'WEIR_SETTINGS_UNREPORTED'
  | 'WEIR_SETTINGS_LOST'
  | 'WEIR_SETTING_REFUSED'
  | 'WEIR_SOURCE_FAILED'
  | 'WEIR_MOVED'

const given = new Set<string>()

/**
 * Warns once for each code and topic. Topics come from the set-up, not from requests, so there are
 * few.
 */
export function warnOnce(code: WarningCode, topic: string, message: string): void {
  const id = `${code} ${topic}`
  if (given.has(id)) return
  given.add(id)
  warn(code, message)
}

/** Calls a user's listener. An error that it throws or rejects with becomes a warning. */
export function notify(listener: string, topic: string, call: () => unknown): void {
  try {
    const done = call()
    if (isPromise(done)) Promise.resolve(done).catch(warnOfListener.bind(null, listener, topic))
  } catch (error) {
    warnOfListener(listener, topic, error)
  }
}

function warnOfListener(listener: string, topic: string, error: unknown): void {
  warnOnce('WEIR_OBSERVER_FAILED', topic, `${listener} of "${topic}" threw: ${quote(error)}`)
}

export function warn(code: WarningCode, what: string): void {
  const message = withPage(code, what)
  const { process } = globalThis as {
    process?: { emitWarning?(text: string, options: object): void }
  }
  if (process?.emitWarning) process.emitWarning(message, { type: 'WeirWarning', code })
  else console.warn(`${code}: ${message}`)
}
