// Warns that a store has decided nothing for a while, also where nobody listens to its events.

import { quote } from '../../base/errors.js'
import type { Time } from '../../base/time.js'
import { warn } from '../../base/warnings.js'
import type { Events } from './events.js'
import { kindOfFailure, reasonOf } from './failures.js'

/** Longer than most restarts and failovers take. */
export const DEGRADED_MS = 10_000

/**
 * Warns when the breaker of a node has not been closed for 10 s: once for each kind of cause.
 * @param store what the store is called
 * @param meanwhile what decides without it
 * @returns what ends it
 */
export function warnWhenDegraded(
  events: Events,
  store: string,
  meanwhile: string,
  time: Time,
): () => void {
  const away = new Map<string, { cause: unknown; readonly cancel: () => void }>()
  const given = new Set<string>()

  function warnOf(node: string): void {
    const cause = away.get(node)?.cause
    const kind = kindOfFailure(cause)
    if (given.has(kind)) return
    given.add(kind)
    const what = `${store} (node ${quote(node)}) has decided nothing for ${DEGRADED_MS / 1_000} s`
    const why = `${reasonOf(cause)}; until it does, decisions are made with whenUnavailable ${quote(meanwhile)}`
    warn('WEIR_STORE_DEGRADED', `${what}: ${why}`)
  }

  events.on('breaker', ({ node, state, cause }) => {
    const known = away.get(node)
    if (state === 'closed') {
      known?.cancel()
      away.delete(node)
    } else if (known !== undefined) known.cause = cause ?? known.cause
    else away.set(node, { cause, cancel: time.after(DEGRADED_MS, () => warnOf(node)) })
  })
  return () => {
    for (const { cancel } of away.values()) cancel()
  }
}
