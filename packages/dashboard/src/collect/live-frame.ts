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
    const { list, history } = this.#read(live)
    const { version, pending, refused, heardMsAgo, isCurrent, overrides } = live.status()
    return {
      id,
      version,
      pending,
      refused,
      heardMsAgo,
      isCurrent,
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
      read = { atMs: Number.NEGATIVE_INFINITY, isReading: false, list: undefined, history: [] }
      this.#reads.set(live, read)
    }
    return read
  }

  async #readAgain(live: ShownLive, read: Read): Promise<void> {
    read.isReading = true
    try {
      const [list, history] = await Promise.all([live.list(), live.history()])
      Object.assign(read, { list, history })
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
function current(live: ShownLive, name: string): Policy | undefined {
  try {
    return live.for(name)
  } catch {
    return undefined
  }
}
