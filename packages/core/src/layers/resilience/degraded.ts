// Says that a store has been without Redis for a while, also where nobody listens to its events.

import { quote } from '../../base/errors.js'
import { warn } from '../../base/warnings.js'
import type { Events } from './events.js'
import { kindOfFailure, reasonOf } from './failures.js'

/** Longer than most restarts and failovers take. */
export const DEGRADED_MS = 10_000

/**
 * Warns when the breaker of a node has not been closed for 10 s: once for each kind of cause.
 * @param meanwhile what decides without Redis
 * @returns what ends it
 */
export function warnWhenDegraded(events: Events, meanwhile: string): () => void {
  const timers = new Map<string, ReturnType<typeof setTimeout>>()
  const causes = new Map<string, unknown>()
  const given = new Set<string>()

  function warnOf(node: string): void {
    const cause = causes.get(node)
    const kind = kindOfFailure(cause)
    if (given.has(kind)) return
    given.add(kind)
    const what = `Redis (node ${quote(node)}) has decided nothing for ${DEGRADED_MS / 1_000} s`
    const why = `${reasonOf(cause)}; until it does, decisions are made with whenUnavailable ${quote(meanwhile)}`
    warn('WEIR_STORE_DEGRADED', `${what}: ${why}`)
  }

  events.on('breaker', ({ node, state, cause }) => {
    if (cause !== undefined) causes.set(node, cause)
    if (state === 'closed') {
      clearTimeout(timers.get(node))
      timers.delete(node)
    } else if (!timers.has(node)) {
      const timer = setTimeout(() => warnOf(node), DEGRADED_MS)
      timer.unref?.()
      timers.set(node, timer)
    }
  })
  return () => {
    for (const timer of timers.values()) clearTimeout(timer)
  }
}
