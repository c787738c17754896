// The processes on the same stores: each reports on itself while somebody watches any of them.
// While nobody does, no store is asked anything.

import { hostname } from 'node:os'
import type { ProcessFrame, StoreFrame } from '../protocol.js'
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
  /** A text that no other process has. */
  readonly mark: string
  /** This process's snapshot, for a store to keep. */
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
  /** Whether somebody watches, as the heartbeat says. */
  isWatched: boolean
  isAsking: boolean
  watchedAtMs: number
  reportedAtMs: number
  processes: readonly ProcessFrame[]
  /** -Infinity: not since somebody began to watch here. */
  readAtMs: number
  /** Since when reports have been asked for without an answer: -Infinity if asking failed;
   *  undefined: there was an answer, or nobody has asked. */
  unansweredMs: number | undefined
}

export class Fleet {
  /** This process's name on Redis stores. */
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

  /** Begins to hear whether somebody watches processes on these stores. */
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
      unansweredMs: undefined,
    }
    this.#peers.set(store, peers)
    peers.forget = settings.onWatched((isWatched) => {
      peers.isWatched = isWatched
      this.#run()
      changed()
    })
  }

  /** Whether somebody watches, in this process or another, as the stores say. */
  get isWatched(): boolean {
    return [...this.#peers.values()].some((peers) => peers.isWatched)
  }

  /** Says whether somebody watches here. */
  watch(isWatching: boolean): void {
    // The last answer is as old as the last viewer.
    for (const peers of this.#peers.values()) {
      peers.readAtMs = Number.NEGATIVE_INFINITY
      peers.unansweredMs = peers.isAsking ? this.#options.time.steadyMs() : undefined
    }
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

  /** What came of the question who has reported. */
  answerOf(store: ShownStore): StoreFrame['answer'] {
    const peers = this.#peers.get(store)
    if (peers === undefined) return undefined
    const oldestMs = this.#options.time.steadyMs() - REPORT_TTL_MS
    const { unansweredMs = oldestMs, readAtMs } = peers
    if (unansweredMs < oldestMs) return 'missing'
    return readAtMs === Number.NEGATIVE_INFINITY ? 'asked' : 'came'
  }

  /** The switches for limiters in other processes. Undefined: processes on that store cannot see
   *  each other. */
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

  /** Reads what others report. In an outage the last reports are shown until they are old, and
   *  `answerOf` says why they become fewer. */
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
    peers.unansweredMs ??= time.steadyMs()
    const reports = await peers.settings.reports(SETTINGS_NAME).catch((error) => {
      peers.unansweredMs = Number.NEGATIVE_INFINITY
      throw error
    })
    peers.unansweredMs = undefined
    const others = reports.filter(({ process }) => !process.endsWith(mark))
    peers.processes = others.map(processFrame).filter((each) => each !== undefined)
    peers.readAtMs = time.steadyMs()
  }
}
