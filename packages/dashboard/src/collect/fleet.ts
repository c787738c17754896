// The processes on the same stores: each reports itself while somebody watches, wherever that is.
// While nobody does, nothing is asked of a store.

import { hostname } from 'node:os'
import type { ProcessFrame } from '../protocol.js'
import type { Time } from '../time.js'
import type { ShownStore } from '../watched.js'
import { SETTINGS_NAME, type WatchableSettings, watchable } from './settings.js'
import { processFrame, type Snapshot, textOfSnapshot } from './snapshot.js'
import { Switches } from './switches.js'

const LOOK_MS = 1_000
const REPORT_EVERY_MS = 2_000
const WATCH_EVERY_MS = 3_000
const WATCH_TTL_MS = 10_000
const REPORT_TTL_MS = 8_000

export interface FleetOptions {
  readonly time: Time
  /** Which no other process has. */
  readonly mark: string
  /** What a store is to keep of this process. */
  readonly snapshot: (store: ShownStore) => Snapshot
  /** Switches the limiters of a name on a store. */
  readonly apply: (store: ShownStore, limiter: string, isOn: boolean) => void
  /** Called when somebody elsewhere begins or ceases to watch. */
  readonly changed: () => void
}

/** A store, and the processes on it. */
interface Peers {
  readonly store: ShownStore
  readonly settings: WatchableSettings
  readonly switches: Switches
  forget: () => void
  /** Somebody watches, says the heartbeat. */
  isWatched: boolean
  isAsking: boolean
  watchedAtMs: number
  reportedAtMs: number
  processes: readonly ProcessFrame[]
  readAtMs: number
}

export class Fleet {
  /** This process, as the stores of Redis call it. */
  readonly process: string
  readonly #options: FleetOptions
  readonly #bornMs: number
  readonly #peers = new Map<ShownStore, Peers>()
  #isWatching = false
  #isClosed = false
  #stop: (() => void) | undefined

  constructor(options: FleetOptions) {
    this.#options = options
    this.#bornMs = options.time.steadyMs()
    this.process = `${hostname().slice(0, 64)}-${process.pid}-${options.mark}`
  }

  /** From now on it is heard whether somebody watches processes on these stores. */
  know(stores: Iterable<ShownStore>): void {
    if (this.#isClosed) return
    for (const store of stores) {
      const settings = this.#peers.has(store) ? undefined : watchable(store.settings)
      if (settings !== undefined) this.#meet(store, settings)
    }
  }

  #meet(store: ShownStore, settings: WatchableSettings): void {
    const { time, apply, changed } = this.#options
    const toggle = (limiter: string, isOn: boolean): void => apply(store, limiter, isOn)
    const peers: Peers = {
      store,
      settings,
      switches: new Switches({ settings, time, bornMs: this.#bornMs, apply: toggle }),
      forget() {},
      isWatched: false,
      isAsking: false,
      watchedAtMs: Number.NEGATIVE_INFINITY,
      reportedAtMs: Number.NEGATIVE_INFINITY,
      processes: [],
      readAtMs: Number.NEGATIVE_INFINITY,
    }
    this.#peers.set(store, peers)
    peers.forget = settings.onWatched((isWatched) => {
      peers.isWatched = isWatched
      this.#run()
      changed()
    })
  }

  /** Whether somebody elsewhere, or here, watches by a store. */
  get isWatched(): boolean {
    return [...this.#peers.values()].some((peers) => peers.isWatched)
  }

  /** Whether somebody watches here. */
  watch(isWatching: boolean): void {
    this.#isWatching = isWatching
    this.#run()
  }

  /** The other processes that have reported in the last seconds. */
  others(): readonly ProcessFrame[] {
    const oldestMs = this.#options.time.steadyMs() - REPORT_TTL_MS
    const all = new Map<string, ProcessFrame>()
    for (const { processes, readAtMs } of this.#peers.values())
      if (readAtMs > oldestMs) for (const each of processes) all.set(each.process, each)
    return [...all.values()].sort((one, two) => (one.process < two.process ? -1 : 1))
  }

  /** What switches limiters in other processes. Undefined: no process sees others on that store. */
  switchesOf(store: ShownStore): Switches | undefined {
    return this.#peers.get(store)?.switches
  }

  close(): void {
    this.#isClosed = true
    this.#isWatching = false
    for (const { forget } of this.#peers.values()) forget()
    this.#peers.clear()
    this.#run()
  }

  #run(): void {
    const isNeeded = this.#peers.size > 0 && (this.#isWatching || this.isWatched)
    if (isNeeded === (this.#stop !== undefined)) return
    this.#stop?.()
    this.#stop = isNeeded ? this.#options.time.every(LOOK_MS, () => this.#lookAtAll()) : undefined
    if (isNeeded) this.#lookAtAll()
  }

  #lookAtAll(): void {
    for (const peers of this.#peers.values()) {
      if (!(this.#isWatching || peers.isWatched) || peers.isAsking) continue
      peers.isAsking = true
      this.#look(peers)
        .catch(() => {})
        .finally(() => {
          peers.isAsking = false
        })
    }
  }

  /** An outage is shown by the health of the store; what was read last is shown until it is old. */
  async #look(peers: Peers): Promise<void> {
    const { time, mark, snapshot } = this.#options
    const { settings, switches } = peers
    const nowMs = time.steadyMs()
    const isDue = (lastMs: number, everyMs: number): boolean => {
      return nowMs - lastMs >= everyMs - LOOK_MS / 2
    }
    const asked: Promise<unknown>[] = []
    if (this.#isWatching && isDue(peers.watchedAtMs, WATCH_EVERY_MS)) {
      peers.watchedAtMs = nowMs
      asked.push(settings.watch(WATCH_TTL_MS))
    }
    if (isDue(peers.reportedAtMs, REPORT_EVERY_MS)) {
      peers.reportedAtMs = nowMs
      const text = textOfSnapshot(snapshot(peers.store))
      asked.push(settings.report(SETTINGS_NAME, mark, text, REPORT_TTL_MS), switches.read())
      if (this.#isWatching) asked.push(this.#readReports(peers))
    }
    await Promise.allSettled(asked)
  }

  async #readReports(peers: Peers): Promise<void> {
    const { mark, time } = this.#options
    const reports = await peers.settings.reports(SETTINGS_NAME)
    const others = reports.filter(({ process }) => !process.endsWith(mark))
    peers.processes = others.map(processFrame).filter((each) => each !== undefined)
    peers.readAtMs = time.steadyMs()
  }
}
