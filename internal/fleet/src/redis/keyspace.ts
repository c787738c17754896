// The keys of a simulated server: states and marks of counters with their TTLs, and settings.
// States are stored as the TypeScript kernels have them; a real server stores the same as text.

import type { Cells, Kernel, Scratch } from '../../../../packages/core/src/algorithms/algorithm.js'
import type { Mark, Marks, Table } from '../../../../packages/core/src/algorithms/driver.js'
import type { Kept } from '../../../../packages/core/src/memory/settings.js'

/** A server's refusal of a command, in the form in which ioredis reports it. */
export class RefusedError extends Error {
  override readonly name = 'ReplyError'
}

interface Entry {
  readonly value: Cells | Mark | Kept | ReadonlyMap<string, number>
  readonly endMs: number
  /** The id of the kernel that the state belongs to. */
  readonly kernel?: string | undefined
}

export class Keyspace {
  readonly #entries: Map<string, Entry> = new Map()
  readonly #nowMs: () => number
  /** The number of writes and deletions. */
  changes = 0
  /** The server has no memory left, and the script that it runs has not written yet. A script that
   *  has, if only a deletion, is not stopped. */
  refusesWrites = false

  /** @param nowMs the server's clock, by which keys expire */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get<Value extends Entry['value']>(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry.endMs > this.#nowMs()) return entry.value as Value
    this.#entries.delete(key)
    return undefined
  }

  set(key: string, value: Entry['value'], ttlMs: number, kernel?: string): void {
    if (this.refusesWrites)
      throw new RefusedError("OOM command not allowed when used memory > 'maxmemory'.")
    this.changes += 1
    this.#entries.set(key, { value, endMs: this.#nowMs() + ttlMs, kernel })
  }

  /** The remaining TTL of a key, in ms; below 0 if the key does not exist. */
  ttlMs(key: string): number {
    const entry = this.#entries.get(key)
    return entry === undefined ? -2 : Math.floor(entry.endMs - this.#nowMs())
  }

  delete(key: string): void {
    this.refusesWrites = false
    if (this.#entries.delete(key)) this.changes += 1
  }

  clear(): void {
    this.#entries.clear()
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  /** Whether a key holds something other than a state of the kernel. */
  isForeign(key: string, { id }: Kernel): boolean {
    return this.has(key) && this.#entries.get(key)?.kernel !== id
  }

  /** All present keys. */
  keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.has(key))
  }

  /** A snapshot. Later changes leave it as it is, since states are never written in place. */
  copy(): Keyspace {
    const copy = new Keyspace(this.#nowMs)
    for (const [key, entry] of this.#entries) copy.#entries.set(key, entry)
    return copy
  }

  /** Replaces all keys by those of another keyspace. */
  become(other: Keyspace): void {
    this.#entries.clear()
    for (const [key, entry] of other.#entries) this.#entries.set(key, entry)
  }

  /** MIGRATE. */
  moveTo(other: Keyspace, key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    other.#entries.set(key, entry)
  }

  /** The counters of one kernel, as the driver reads them. */
  tableOf(kernel: Kernel, slackMs: number): Table {
    return {
      marks: this.#marks(slackMs),
      read: (scratch: Scratch, key, nowUs) => {
        const cells = this.get<Cells>(key)
        kernel.read(scratch, cells, 0, nowUs)
        return cells === undefined ? -1 : 0
      },
      write: (scratch, key, _slot, _nowMs, resetMs) => {
        // A copy: a log's array is written in place, and others may still read the old one.
        const old = this.get<Cells>(key)
        const room = old === undefined ? new Float64Array(kernel.width) : Float64Array.from(old)
        this.set(key, kernel.write(scratch, room, 0), resetMs + slackMs, kernel.id)
      },
      remove: (key) => this.delete(key),
    }
  }

  #marks(slackMs: number): Marks {
    const markOf = (key: string): string => `${key}:mark`
    const of = (key: string): Mark => this.get<Mark>(markOf(key)) ?? { forgottenUs: 0, gaveUs: 0 }
    return {
      of,
      set: (key, { forgottenUs, gaveUs, base, begunUs }, _nowMs, lifeMs) => {
        const known = of(key)
        const mark = {
          forgottenUs: Math.max(known.forgottenUs, forgottenUs),
          gaveUs: gaveUs === 0 ? known.gaveUs : gaveUs,
          base,
          begunUs,
        }
        const ttlMs = Math.max(this.ttlMs(markOf(key)), lifeMs + 1_000 + slackMs)
        this.set(markOf(key), mark, ttlMs)
      },
    }
  }
}
