// Replays kept entries through a real limiter.

import { type Decision, memoryStore, type Policy, RateLimiter } from '@weir/core'
import type { KeyTable } from '../run/key-table.js'
import { moveOf } from '../run/moved.js'
import type { Entries } from './entries.js'

/** A log to replay, in one of its runs. */
export interface Replayed {
  readonly entries: Entries
  readonly keys: KeyTable
  readonly run: number
  readonly maxKeys: number
  /** A time of the log, in us. */
  readonly typicalUs: number
}

/**
 * Decides on the requests of some keys.
 * @param isAsked which keys: leaving out the others changes nothing, because each key is limited
 * for itself
 */
export function replay(
  { entries, keys, run, maxKeys, typicalUs }: Replayed,
  policy: Policy,
  isAsked: (key: number) => boolean,
  decided: (key: number, decision: Decision) => void,
): void {
  const moveUs = moveOf(typicalUs, [policy])
  let nowUs = typicalUs + moveUs
  const store = memoryStore({ clock: { nowUs: () => nowUs }, maxKeys })
  const limiter = new RateLimiter({ store, policy, shared: true })
  entries.each(run, (timeUs, key, cost) => {
    if (!isAsked(key)) return
    nowUs = timeUs + moveUs
    const options = cost === 1 ? undefined : { cost }
    // A memory store answers at once.
    decided(key, limiter.decide(keys.texts[key] as string, options) as Decision)
  })
  store.close()
}
