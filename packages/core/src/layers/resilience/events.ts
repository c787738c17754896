// Events of a store, for listeners and the log. No listener can break a decision.

import { quote } from '../../base/errors.js'
import type { Time } from '../../base/time.js'
import { notify, warn } from '../../base/warnings.js'
import type { WhenUnavailable } from '../../store.js'
import { kindOfFailure, reasonOf } from './failures.js'

/** The events of a store, for `store.on(name, listener)`: see docs/operating.md. */
export interface StoreEvents {
  /** A node's breaker changed its state. `open`: its keys are decided without it. `half-open`: it
   *  decides again, and for 5 s local quotas stay a ceiling. `closed`: it alone decides. */
  readonly breaker: {
    readonly node: string
    readonly state: 'closed' | 'open' | 'half-open'
    readonly cause?: unknown
  }
  /** A decision was made without the store, or denied by a local quota while a node is
   *  half-open. */
  readonly fallback: { readonly limiter: string; readonly key: string; readonly cause: unknown }
  /** A key cannot be decided, such as one that holds something that Weir did not write. */
  readonly 'key-error': { readonly limiter: string; readonly key: string; readonly cause: unknown }
  /** Units admitted without the store have been counted in it, under this number of keys; one for
   *  each policy. */
  readonly reconciled: { readonly node: string; readonly keys: number }
  /** The store had lost a key before its time; what was last seen of it was restored. */
  readonly 'data-loss': { readonly limiter: string; readonly key: string }
}

export type StoreListener<Name extends keyof StoreEvents> = (event: StoreEvents[Name]) => void

/** Longer than most restarts and failovers take. */
export const DEGRADED_MS = 10_000

export interface EventsOptions {
  /** Called with a line of text at most once a second for each kind of event. */
  readonly log: ((line: string) => void) | undefined
  readonly time: Time
  /** What decides without the store. */
  readonly whenUnavailable: WhenUnavailable
}

export interface Events {
  on<Name extends keyof StoreEvents>(name: Name, listener: StoreListener<Name>): () => void
  emit<Name extends keyof StoreEvents>(name: Name, event: StoreEvents[Name]): void
  /** How often each has happened. */
  readonly counts: Readonly<Record<keyof StoreEvents, number>>
  /** From now on, nothing is reported. */
  close(): void
}

/**
 * Makes the events of a store. Warns when a node's breaker has been open for 10 s, once for each
 * kind of cause.
 * @param title what the store is called
 */
export function storeEvents(title: string, options: EventsOptions): Events {
  const { log, time, whenUnavailable } = options
  const listeners = new Map<keyof StoreEvents, Set<(event: never) => void>>()
  const lastLineMs = new Map<keyof StoreEvents, number>()
  const away = new Map<string, { cause: unknown; readonly cancel: () => void }>()
  const warned = new Set<string>()
  const counts = { breaker: 0, fallback: 0, 'key-error': 0, reconciled: 0, 'data-loss': 0 }
  let isOver = false

  function warnOf(node: string): void {
    const cause = away.get(node)?.cause
    const kind = kindOfFailure(cause)
    if (warned.has(kind)) return
    warned.add(kind)
    const what = `${title} (node ${quote(node)}) has decided nothing for ${DEGRADED_MS / 1_000} s`
    const why = `${reasonOf(cause)}; until it does, decisions are made with whenUnavailable ${quote(nameOf(whenUnavailable))}`
    warn('WEIR_STORE_DEGRADED', `${what}: ${why}`)
  }

  function changed({ node, state, cause }: StoreEvents['breaker']): void {
    const known = away.get(node)
    if (state !== 'open') {
      known?.cancel()
      away.delete(node)
    } else if (known !== undefined) known.cause = cause ?? known.cause
    else away.set(node, { cause, cancel: time.after(DEGRADED_MS, () => warnOf(node)) })
  }

  return {
    counts,
    on(name, listener) {
      const some = listeners.get(name) ?? new Set()
      listeners.set(name, some)
      some.add(listener)
      return () => some.delete(listener)
    },
    emit(name, event) {
      if (isOver) return
      counts[name] += 1
      if (name === 'breaker') changed(event as StoreEvents['breaker'])
      for (const listener of listeners.get(name) ?? [])
        notify('a listener', name, () => listener(event as never))
      if (log === undefined) return
      const nowMs = time.nowMs()
      if (nowMs - (lastLineMs.get(name) ?? Number.NEGATIVE_INFINITY) < 1_000) return
      lastLineMs.set(name, nowMs)
      notify('a listener', 'log', () => log(lineOf(name, event)))
    },
    close() {
      isOver = true
      for (const { cancel } of away.values()) cancel()
    },
  }
}

function nameOf(when: WhenUnavailable): string {
  return typeof when === 'object' ? when.name : when
}

function lineOf(name: string, event: object): string {
  const parts = Object.entries(event).map(([field, value]) => {
    return `${field} ${quote(value instanceof Error ? value.message : value)}`
  })
  return `weir: ${name}: ${parts.join(', ')}`
}
