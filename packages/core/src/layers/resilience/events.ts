// What happens to a store, for those who watch it. No listener can break a decision.

import { quote } from '../../base/errors.js'
import { isPromise } from '../../base/maybe-async.js'
import type { Time } from '../../base/time.js'
import { warnOnce } from '../../base/warnings.js'

export interface StoreEvents {
  /** A node's breaker changed its state. */
  readonly breaker: {
    readonly node: string
    readonly state: 'closed' | 'open' | 'half-open'
    readonly cause?: unknown
  }
  /** A decision was made without the store. */
  readonly fallback: { readonly limiter: string; readonly key: string; readonly cause: unknown }
  /** A key cannot be decided, such as one that holds something that Weir did not write. */
  readonly 'key-error': { readonly limiter: string; readonly key: string; readonly cause: unknown }
  /** What was admitted without the store has been counted in it. */
  readonly reconciled: { readonly node: string; readonly keys: number }
  /** The store had forgotten a key before its time, and what was last seen of it was restored. */
  readonly 'data-loss': { readonly limiter: string; readonly key: string }
}

export type StoreListener<Name extends keyof StoreEvents> = (event: StoreEvents[Name]) => void

export interface Events {
  on<Name extends keyof StoreEvents>(name: Name, listener: StoreListener<Name>): () => void
  emit<Name extends keyof StoreEvents>(name: Name, event: StoreEvents[Name]): void
  clear(): void
}

/** @param log called with a line of text at most once a second for each kind of event */
export function storeEvents(log: ((line: string) => void) | undefined, time: Time): Events {
  const listeners = new Map<keyof StoreEvents, Set<(event: never) => void>>()
  const lastLineMs = new Map<keyof StoreEvents, number>()
  let isOver = false

  function guarded(name: string, call: () => unknown): void {
    const failed = (error: unknown) =>
      warnOnce('WEIR_OBSERVER_FAILED', name, `a listener for "${name}" threw: ${quote(error)}`)
    try {
      const done = call()
      if (isPromise(done)) Promise.resolve(done).catch(failed)
    } catch (error) {
      failed(error)
    }
  }

  return {
    on(name, listener) {
      const some = listeners.get(name) ?? new Set()
      listeners.set(name, some)
      some.add(listener)
      return () => some.delete(listener)
    },
    emit(name, event) {
      if (isOver) return
      for (const listener of listeners.get(name) ?? [])
        guarded(name, () => listener(event as never))
      if (log === undefined) return
      const nowMs = time.nowMs()
      if (nowMs - (lastLineMs.get(name) ?? Number.NEGATIVE_INFINITY) < 1_000) return
      lastLineMs.set(name, nowMs)
      guarded('log', () => log(lineOf(name, event)))
    },
    clear() {
      isOver = true
    },
  }
}

function lineOf(name: string, event: object): string {
  const parts = Object.entries(event).map(([field, value]) => {
    return `${field} ${quote(value instanceof Error ? value.message : value)}`
  })
  return `weir: ${name}: ${parts.join(', ')}`
}
