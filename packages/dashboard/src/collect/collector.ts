// Collects all that is shown, once a second while somebody watches, and nothing while nobody does.

import { randomBytes } from 'node:crypto'
import type { ActionNote, Frame, ProcessFrame } from '../protocol.js'
import type { Time } from '../time.js'
import type { All, ShownLimiter, ShownStore } from '../watched.js'
import { Fleet } from './fleet.js'
import { limiterFrame } from './limiter-frame.js'
import { LiveFrames } from './live-frame.js'
import { SeenKeys } from './seen-keys.js'
import { keyMarker, keyShower, type ShowKey } from './shown-key.js'
import type { Snapshot } from './snapshot.js'
import { guardFrame, healthOf, storeFrame } from './store-frame.js'

/** The part of a frame that is the same for all viewers. */
export type CommonFrame = Omit<Frame, 'viewer'>

export interface CollectorOptions {
  readonly showKeys: boolean
  /** Notes on actions, the latest first. */
  readonly notes: () => readonly ActionNote[]
  /** Called when the user's function that says what to show has thrown. */
  readonly failed: (error: unknown) => void
}

const MOST_KEYS_OF_PROCESS = 5

export class Collector {
  readonly seen: SeenKeys
  readonly live: LiveFrames
  readonly fleet: Fleet
  readonly show: ShowKey
  readonly #mark: ShowKey = keyMarker()
  readonly #time: Time
  readonly #allNow: () => All
  #all: All
  readonly #failed: (error: unknown) => void
  readonly #notes: () => readonly ActionNote[]
  readonly #bornMs: number
  #names: ReadonlySet<string> = new Set()
  #sequence = 0
  #isWatching = false

  constructor(time: Time, all: () => All, { showKeys, notes, failed }: CollectorOptions) {
    this.#failed = failed
    this.#time = time
    this.#allNow = all
    this.#all = all()
    this.#notes = notes
    this.#bornMs = time.steadyMs() - process.uptime() * 1_000
    this.show = keyShower(showKeys, this.#mark)
    this.seen = new SeenKeys(time, (limiter) => this.#names.has(limiter))
    this.live = new LiveFrames(time, this.show)
    this.fleet = new Fleet({
      time,
      mark: randomBytes(6).toString('hex'),
      snapshot: (store) => this.#snapshot(this.all(), store),
      apply: (store, limiter, isOn) => this.switch(store, limiter, isOn),
      changed: () => this.#listen(),
    })
    this.all()
  }

  /** All that is shown now; begins to follow what is new. If the user's function that says what to
   *  show fails, what it returned last. */
  all(): All {
    try {
      this.#all = this.#allNow()
    } catch (error) {
      this.#failed(error)
    }
    this.#names = new Set([...this.#all.limiters.values()].map(({ name }) => name))
    this.fleet.know(this.#all.stores.values())
    return this.#all
  }

  /** Whether somebody watches here. */
  watch(isWatching: boolean): void {
    this.#isWatching = isWatching
    this.#listen()
    this.fleet.watch(isWatching)
  }

  close(): void {
    this.#isWatching = false
    this.fleet.close()
    this.#listen()
  }

  /** The current frame. */
  frame(): CommonFrame {
    const all = this.all()
    this.#sequence += 1
    const ids = new Map([...all.stores].map(([id, store]) => [store, id]))
    const idOf = (store: ShownStore): string => ids.get(store) ?? ''
    const own: ProcessFrame = {
      ...this.#snapshot(all),
      process: this.fleet.process,
      isThis: true,
    }
    return {
      sequence: this.#sequence,
      atMs: own.atMs,
      process: own.process,
      seenSinceMs: this.seen.sinceMs,
      limiters: [...all.limiters].map(([id, limiter]) => {
        return { ...limiterFrame(id, limiter, this.seen, this.show), store: idOf(limiter.store) }
      }),
      stores: [...all.stores].map(([id, store]) => {
        return { ...storeFrame(id, store), answer: this.fleet.answerOf(store) }
      }),
      guards: [...all.guards].map(([id, guard]) => guardFrame(id, guard)),
      live: [...all.live].map(([id, live]) => this.live.frame(id, live)),
      fleet: [own, ...this.fleet.others()],
      actions: this.#notes(),
      omitted: all.omitted,
    }
  }

  /** Switches all limiters of a name on a store, as other processes know no more of them. */
  switch(store: ShownStore, name: string, isOn: boolean): void {
    for (const limiter of this.all().limiters.values())
      if (limiter.name === name && limiter.store === store) limiter.enabled = isOn
  }

  #listen(): void {
    if (this.#isWatching || this.fleet.isWatched) {
      this.all()
      this.seen.start()
    } else this.seen.stop()
  }

  /** @param to the store that will keep the snapshot; undefined: none */
  #snapshot({ limiters, stores }: All, to?: ShownStore): Snapshot {
    // By names, as limiters of one name share their keys, whatever their stores.
    const secret = namesOfSecret(limiters.values(), to)
    return {
      atMs: this.#time.nowMs(),
      health: healthOf(stores.values()),
      memoryBytes: process.memoryUsage.rss(),
      uptimeMs: this.#time.steadyMs() - this.#bornMs,
      limiters: [...limiters.values()].map((limiter) => {
        const { decisions, enabled, waiting } = limiter.stats()
        const sum = (is: (each: (typeof decisions)[number]) => boolean): number => {
          return decisions.reduce((all, each) => all + (is(each) ? each.count : 0), 0)
        }
        const top = this.seen.of(limiter.name)?.refused.top(MOST_KEYS_OF_PROCESS) ?? []
        return {
          name: limiter.name,
          enabled,
          allowed: sum(({ outcome }) => outcome === 'allowed'),
          denied: sum(({ outcome }) => outcome === 'denied'),
          shadowDenied: sum(({ outcome }) => outcome === 'shadow_denied'),
          degraded: sum(({ degraded }) => degraded),
          errors: sum(({ outcome }) => outcome === 'error'),
          waiting,
          refusedKeys: top.map((slot) => {
            slot.shown ??= this.show(slot.key)
            const key = secret.has(limiter.name) ? this.#mark(slot.key) : slot.shown
            return { key, count: slot.count, error: slot.error }
          }),
        }
      }),
    }
  }
}

/** Names of limiters whose keys must not go to a store: because that store hides keys (`hashKeys`),
 *  or the store of a limiter with that name does. */
function namesOfSecret(
  limiters: Iterable<ShownLimiter>,
  to: ShownStore | undefined,
): ReadonlySet<string> {
  const isSecret = (store: ShownStore): boolean => store.settings?.hidden !== undefined
  const secret = [...limiters].filter(({ store }) => {
    return to !== undefined && (isSecret(to) || isSecret(store))
  })
  return new Set(secret.map(({ name }) => name))
}
