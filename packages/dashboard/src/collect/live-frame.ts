// What the page shows of live policies. What this process knows is read each second; the history,
// and what other processes have applied, is asked of the store every 5 s.

import { createHmac, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Policy } from '@weir/core'
import type { LiveList, Override, PolicyChange } from '@weir/core/live'
import type { LiveFrame } from '../protocol.js'
import type { Time } from '../time.js'
import type { ShownLive } from '../watched.js'
import type { ShowKey } from './shown-key.js'

const READ_MS = 5_000
const MOST_OVERRIDES = 100

interface Read {
  atMs: number
  isReading: boolean
  /** When the list was read last, in ms since the Unix epoch. */
  listedAtMs: number | undefined
  list: LiveList | undefined
  history: readonly PolicyChange[]
}

/** The override that a handle stands for. */
export type OverrideOf = (live: ShownLive, handle: string) => Override | undefined

export class LiveFrames {
  readonly #time: Time
  readonly #show: ShowKey
  readonly #secret = randomBytes(16)
  readonly #reads = new WeakMap<ShownLive, Read>()

  constructor(time: Time, show: ShowKey) {
    this.#time = time
    this.#show = show
  }

  frame(id: string, live: ShownLive): LiveFrame {
    const { list, history, listedAtMs } = this.#read(live)
    const { version, pending, refused, heardMsAgo, isCurrent, overrides } = live.status()
    return {
      id,
      version,
      pending,
      refused,
      heardMsAgo,
      isCurrent,
      listedAtMs,
      policies: named(live, list),
      overrideCount: overrides,
      overrides: live
        .overrides()
        .slice(0, MOST_OVERRIDES)
        .map(({ kind, key, policy }) => {
          const shown = this.#show(key)
          const handle = this.#handle(kind, key, policy)
          return { kind, key: shown, handle, name: policy.name, policy: dataOf(policy) }
        }),
      history: history.map((each) => this.#change(each)),
      processes: (list?.processes ?? []).map(({ process, version, isCurrent, refused }) => {
        const why = refused.map((each) => `${this.#named(each)}: ${each.why}`)
        return { process, version, isCurrent, refused: why }
      }),
    }
  }

  /** Forgets what was read, so that the next frame shows a change. */
  forget(live: ShownLive): void {
    const read = this.#reads.get(live)
    if (read !== undefined) read.atMs = Number.NEGATIVE_INFINITY
  }

  /** Reads the live policies from the store, unless they were read before. */
  async loaded(live: ShownLive): Promise<void> {
    const read = this.#readOf(live)
    if (read.list === undefined) await this.#readAgain(live, read)
  }

  /** The names that `live.set` knows, of those that were read. */
  namesOf(live: ShownLive): readonly string[] {
    return Object.keys(defaultsOf(this.#reads.get(live)?.list))
  }

  /** The policies that hold for a key, or for keys without an override. */
  async policiesOf(live: ShownLive, key?: string): Promise<readonly Policy[]> {
    await this.loaded(live)
    const all = this.namesOf(live).map((name) => current(live, name, key))
    return all.filter((each) => each !== undefined)
  }

  /** What the code has under a name that `live.set` knows, as far as that was read. */
  defaultOf(live: ShownLive, name: string): Policy | undefined {
    return defaultsOf(this.#reads.get(live)?.list)[name]
  }

  readonly overrideOf: OverrideOf = (live, handle) => {
    return live.overrides().find(({ kind, key, policy }) => {
      return this.#handle(kind, key, policy) === handle
    })
  }

  #handle(kind: string, key: string, { name }: Policy): string {
    const mac = createHmac('sha256', this.#secret).update(JSON.stringify([kind, name, key]))
    return mac.digest('base64url').slice(0, 16)
  }

  #named({ kind, name, key = '' }: Pick<PolicyChange, 'kind' | 'name' | 'key'>): string {
    return kind === 'policy' ? name : `${name}, ${kind} ${this.#show(key)}`
  }

  #change(change: PolicyChange): LiveFrame['history'][number] {
    const { version, madeAtMs, policy, was } = change
    const what = this.#named(change)
    return { version, madeAtMs, what, was: was && dataOf(was), policy: policy && dataOf(policy) }
  }

  /** What was read last; begins to read again if that was long ago. */
  #read(live: ShownLive): Read {
    const read = this.#readOf(live)
    const nowMs = this.#time.steadyMs()
    if (!read.isReading && nowMs - read.atMs >= READ_MS) {
      read.atMs = nowMs
      void this.#readAgain(live, read)
    }
    return read
  }

  #readOf(live: ShownLive): Read {
    let read = this.#reads.get(live)
    if (read === undefined) {
      const none = { listedAtMs: undefined, list: undefined, history: [] }
      read = { atMs: Number.NEGATIVE_INFINITY, isReading: false, ...none }
      this.#reads.set(live, read)
    }
    return read
  }

  async #readAgain(live: ShownLive, read: Read): Promise<void> {
    read.isReading = true
    try {
      const [list, history] = await Promise.all([live.list(), live.history()])
      Object.assign(read, { list, history, listedAtMs: this.#time.nowMs() })
    } catch {
      // The page goes on showing what was read last; `heardMsAgo` says how old that is.
    } finally {
      read.isReading = false
    }
  }
}

/** A factory's policy, as the data that `policyFrom` reads. */
function dataOf({ algorithm, name, limit, windowMs, options }: Policy): object {
  return { algorithm, ...(options ?? { name, limit, windowMs }) }
}

/** This process's defaults, or any process's if this one has not reported yet. */
function defaultsOf(list: LiveList | undefined): Readonly<Record<string, Policy>> {
  const own = `${hostname().slice(0, 64)}-${process.pid}-`
  const all = list?.processes ?? []
  return (all.find((each) => each.process.startsWith(own)) ?? all[0])?.defaults ?? {}
}

function named(live: ShownLive, list: LiveList | undefined): LiveFrame['policies'] {
  return Object.entries(defaultsOf(list)).flatMap(([name, standard]) => {
    const policy = current(live, name)
    if (policy === undefined) return []
    const isOther = policy.signature !== standard.signature
    return [{ name, policy: dataOf(policy), default: isOther ? dataOf(standard) : undefined }]
  })
}

/** The policy that holds. Undefined: only another process has that name. */
function current(live: ShownLive, name: string, key?: string): Policy | undefined {
  try {
    return live.for(name, key)
  } catch {
    return undefined
  }
}
