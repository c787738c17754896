// The current viewers: each is sent a frame a second, which is made once for all. A slow viewer
// misses frames; one that takes none for half a minute is disconnected.

import type { Collector } from '../collect/collector.js'
import { Watching } from '../collect/watching.js'
import type { Frame, Past } from '../protocol.js'
import type { Time } from '../time.js'
import { pastOf, withPast } from '../totals.js'
import type { Reader } from './exchange.js'

/** Tells the browser when to reconnect by itself. */
const BEGINNING = 'retry: 3000\n\n'
const MOST_VIEWERS = 32
const FRAME_MS = 1_000
/** A viewer that has taken no frame for this long is disconnected. */
const STUCK_MS = 30_000
/** After this time a connection ends, so that access is checked again when the page reconnects. */
const LONGEST_MS = 3_600_000

/** The part of a frame that is made once for all viewers. */
interface Made {
  readonly sequence: number
  /** Its JSON, without the brace at its start. */
  readonly text: string
  readonly madeMs: number
}

interface Viewer {
  readonly reader: Reader
  /** The viewer's own part of a frame, as JSON without its end. */
  readonly own: string
  readonly sinceMs: number
  tookMs: number
}

export class Viewers {
  readonly #time: Time
  readonly #collector: Collector
  readonly #all = new Set<Viewer>()
  readonly #watching: Watching
  readonly #failed: (error: unknown) => void
  #stop: (() => void) | undefined
  #last: Made | undefined
  /** The last minute, for viewers who come later. */
  #past: readonly Past[] = []
  #isClosed = false

  /** @param failed called when no frame can be made */
  constructor(time: Time, collector: Collector, failed: (error: unknown) => void) {
    this.#failed = failed
    this.#time = time
    this.#collector = collector
    this.#watching = new Watching(time, (isWatching) => {
      if (!isWatching) {
        this.#last = undefined
        this.#past = []
      }
      collector.watch(isWatching)
    })
  }

  get isFull(): boolean {
    return this.#all.size >= MOST_VIEWERS
  }

  /** Whether viewers are no longer let in. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Adds a viewer. Returns a function to call when the viewer is gone. */
  add(reader: Reader, viewer: Frame['viewer']): () => void {
    // Several requests may have seen the last place free.
    if (this.isFull || this.#isClosed) {
      reader.end()
      return () => {}
    }
    const nowMs = this.#time.steadyMs()
    const own = `{"viewer":${JSON.stringify(viewer)},`
    const each: Viewer = { reader, own, sinceMs: nowMs, tookMs: nowMs }
    const leave = this.#watching.enter()
    this.#all.add(each)
    this.#stop ??= this.#time.every(FRAME_MS, () => this.#tick())
    const made = this.#lately(nowMs) ?? this.#make()
    const past = this.#past.length > 1 ? `"past":${JSON.stringify(this.#past)},` : ''
    this.#send(each, made && { ...made, text: past + made.text }, BEGINNING)
    return () => {
      if (!this.#all.delete(each)) return
      if (this.#all.size === 0) {
        this.#stop?.()
        this.#stop = undefined
      }
      leave()
    }
  }

  /** Sends a frame now, because an action was done. */
  refresh(): void {
    if (this.#all.size > 0) this.#tick()
  }

  /** Ends all connections: who returns has to be let in again. */
  disconnect(): void {
    for (const { reader } of this.#all) reader.end()
  }

  close(): void {
    this.#isClosed = true
    this.disconnect()
    this.#stop?.()
    this.#stop = undefined
    this.#watching.close()
  }

  #tick(): void {
    const nowMs = this.#time.steadyMs()
    const made = this.#make()
    for (const viewer of this.#all) {
      this.#send(viewer, made)
      const isStuck = nowMs - viewer.tookMs >= STUCK_MS
      if (isStuck || nowMs - viewer.sinceMs >= LONGEST_MS) viewer.reader.end()
    }
  }

  #lately(nowMs: number): Made | undefined {
    const last = this.#last
    return last !== undefined && nowMs - last.madeMs < FRAME_MS ? last : undefined
  }

  /** Undefined: the frame cannot be made, for example because a user's store throws. Viewers see
   *  the last frame grow old. */
  #make(): Made | undefined {
    try {
      const frame = this.#collector.frame()
      const text = JSON.stringify(frame).slice(1)
      this.#past = withPast(this.#past, pastOf(frame))
      this.#last = { sequence: frame.sequence, text, madeMs: this.#time.steadyMs() }
      return this.#last
    } catch (error) {
      this.#failed(error)
      return undefined
    }
  }

  #send(viewer: Viewer, made: Made | undefined, before = ''): void {
    if (made === undefined) return
    const { sequence, text } = made
    const event = `${before}event: frame\nid: ${sequence}\ndata: ${viewer.own}${text}\n\n`
    if (viewer.reader.send(event)) viewer.tookMs = this.#time.steadyMs()
  }
}
