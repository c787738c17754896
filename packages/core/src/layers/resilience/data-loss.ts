// Keys that Redis forgot before their time: flushed, evicted, or missing on a replica that took over. The first answer that
// shows it (see last-seen.ts) is followed by one `raise` of what was last seen. Answers already given stand, so what was in
// flight at that moment may pass beyond the limit.

import type { Desk } from '../../redis/desks.js'
import type { Waiter } from '../../redis/transport/batching.js'
import type { StoreRequest, StoreResult } from '../../store.js'
import type { Events } from './events.js'
import { raiseOf } from './last-seen.js'

export interface LossesOptions {
  readonly events: Events
  /** Asks Redis. */
  readonly ask: (group: StoreRequest, waiter: Waiter) => void
}

/**
 * Remembers an answer of Redis. If it shows that keys were forgotten, Redis is sent what was last seen of them.
 * @param id of the target
 */
export function noteAnswer(
  group: StoreRequest,
  id: string,
  { seen, salt }: Desk,
  answer: StoreResult,
  { events, ask }: LossesOptions,
): void {
  // What takes nothing shows nothing new, and must not hide that a key was lost.
  if (group.mode === 'peek' || group.costs.every((cost) => cost === 0)) return
  const before = seen.note(id, salt, answer, group.mode)
  if (before === undefined) return
  ask(raiseOf(group, before), {
    answered(raised) {
      seen.note(id, salt, raised, 'restore')
      if (raised.allowed)
        events.emit('data-loss', { limiter: group.policySet.name, key: group.key })
    },
    // Nothing is sent again: up to one limit may then pass a second time.
    failed() {},
  })
}
