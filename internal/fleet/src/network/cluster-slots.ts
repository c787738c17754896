// What a simulated Cluster client knows of the slots. It asks one node after another, over a
// separate connection, and learns from redirections in between.

import type { Random } from '@weir/testkit/virtual-time'
import type { SlotRanges } from '../redis/cluster-node.js'
import type { Host } from '../world/host.js'
import type { Pool } from './cluster-pool.js'

/** From the recommended options: how long a node may take to report which master has which
 *  slots. */
const SLOTS_TIMEOUT_US = 1_000_000

export interface SlotsOptions {
  readonly host: Host
  readonly random: Random
  readonly pool: Pool
  /** Whether the client has lost all connections. */
  readonly isLost: () => boolean
  /** Called with the masters when a node has reported who serves which slots. */
  readonly learned: (masters: readonly string[]) => void
}

export class ClusterSlots {
  readonly #options: SlotsOptions
  /** As in ioredis, one MOVED changes the master of a whole range, until the client asks for the
   *  slots again. */
  #ranges: { readonly last: number; master: string }[] = []
  /** Callbacks that wait for the current refresh. */
  #waiting: ((hasFailed: boolean) => void)[] | undefined

  constructor(options: SlotsOptions) {
    this.#options = options
  }

  masterOf(slot: number): string | undefined {
    return this.#rangeOf(slot)?.master
  }

  /** A node has named the master of a slot. */
  moved(slot: number, name: string): void {
    const range = this.#rangeOf(slot)
    if (range !== undefined) range.master = name
    this.#options.pool.to(name)
  }

  /** Asks for the slots again. Callers during a refresh wait for its end. */
  refresh(done: (hasFailed: boolean) => void = () => {}): void {
    if (this.#waiting !== undefined) {
      this.#waiting.push(done)
      return
    }
    this.#waiting = [done]
    const { pool, random } = this.#options
    this.#tryNext(shuffled(pool.names, random))
  }

  #tryNext([name, ...others]: readonly string[]): void {
    if (name === undefined) {
      this.#end(true)
      return
    }
    this.#ask(name, (ranges) => {
      if (this.#options.isLost()) this.#end(true)
      else if (ranges === undefined) this.#tryNext(others)
      else {
        this.#learn(ranges)
        this.#end(false)
      }
    })
  }

  #end(hasFailed: boolean): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const each of waiting) each(hasFailed)
  }

  /** Asks a node. Reports undefined if it does not answer. */
  #ask(name: string, told: (ranges: SlotRanges | undefined) => void): void {
    const { host, pool } = this.#options
    const link = pool.aside(name)
    let isOver = false
    const over = (reply: unknown): void => {
      if (isOver) return
      isOver = true
      cancel()
      link.end('it has been asked')
      told(reply as SlotRanges | undefined)
    }
    const cancel = host.run(SLOTS_TIMEOUT_US, () => over(undefined))
    link.send('cluster slots', []).then(over, () => over(undefined))
  }

  #learn(ranges: SlotRanges): void {
    this.#ranges = ranges.map((range) => ({ ...range }))
    this.#options.learned([...new Set(ranges.map(({ master }) => master))])
  }

  #rangeOf(slot: number) {
    return this.#ranges.find(({ last }) => slot <= last)
  }
}

function shuffled(names: readonly string[], random: Random): string[] {
  const rest = [...names]
  return names.map(() => rest.splice(random.whole(0, rest.length - 1), 1)[0] as string)
}
