// Follows a store's settings: asks twice a second what has changed, and applies each change at the
// instant that the store has set for all processes. It keeps what it heard last through any
// failure, and writes that back if the store has lost it.

import {
  REMEMBERED_CHANGES,
  type SettingChange,
  type SettingsNews,
  type SettingsVersion,
} from '../settings.js'
import { LEAD_MS, type NamedSettings } from './changes.js'

const POLL_MS = 500
/** Fields read in one turn of the event loop. */
const SLICE = 200
/** Weir never writes more. Fields that somebody else wrote must not fill the memory. */
const MOST_FIELDS = 50_000

interface FollowerOptions extends NamedSettings {
  /** Called with some fields at a time before all are `loaded`, so that the work is done in
   *  slices. */
  readonly prepare: (fields: readonly (readonly [field: string, value: string])[]) => void
  /** Called with all fields, which replace the earlier ones. */
  readonly loaded: (fields: ReadonlyMap<string, string>) => void
  /** Called when a change takes effect, `lateMs` after it should have. */
  readonly changed: (change: SettingChange, lateMs: number) => void
  /** Called when the store cannot be read, and not again until it could be read. */
  readonly failed: (error: unknown) => void
  /** Called when the store has lost what this process knew. `'restored'`: this process wrote it
   *  back; `'replaced'`: too much had been set since. */
  readonly lost: (how: 'restored' | 'replaced') => void
  /** Called after each poll, whether or not it succeeded. */
  readonly asked: () => void
}

interface Pending {
  readonly change: SettingChange
  readonly dueMs: number
}

export class Follower {
  /** The version that holds now. */
  version = 0
  /** When the store last answered, by this process's clock; undefined: never. */
  heardAtMs: number | undefined = undefined
  /** When this process last knew all that the store holds; undefined: never. */
  currentAtMs: number | undefined = undefined
  /** Whether the last poll failed. */
  isFailing = false
  readonly #options: FollowerOptions
  #fields = new Map<string, string>()
  #heard: SettingsVersion | undefined
  /** The ids of the last versions heard. */
  #ids: readonly string[] = []
  #pending: Pending[] = []
  /** The store's clock at its last answer. */
  #storeUs = 0
  #lastPoll: Promise<unknown> = Promise.resolve()
  #isClosed = false
  #cancelPoll = (): void => {}
  #cancelChange = (): void => {}

  constructor(options: FollowerOptions) {
    this.#options = options
    void this.#every()
  }

  /** How many known changes do not hold yet. */
  get pending(): number {
    return this.#pending.length
  }

  /** Asks now. False: the store could not be read. */
  refresh(): Promise<boolean> {
    const poll = this.#lastPoll.then(() => this.#tryPoll())
    this.#lastPoll = poll
    return poll
  }

  close(): void {
    this.#isClosed = true
    this.#cancelPoll()
    this.#cancelChange()
  }

  async #every(): Promise<void> {
    await this.refresh()
    if (this.#isClosed) return
    this.#cancelPoll = this.#options.time.after(POLL_MS, () => void this.#every())
  }

  async #tryPoll(): Promise<boolean> {
    if (this.#isClosed) return false
    try {
      await this.#poll()
      this.isFailing = false
      return true
    } catch (error) {
      if (!this.isFailing && !this.#isClosed) this.#options.failed(error)
      this.isFailing = true
      return false
    } finally {
      if (!this.#isClosed) this.#options.asked()
    }
  }

  async #poll(): Promise<void> {
    const { settings, name } = this.#options
    const heard = this.#heard
    if (heard === undefined) return this.#load()
    const { id, version, nowUs, changes } = await settings.news(name, heard)
    if (this.#isClosed) return
    this.#hear(nowUs)
    if (changes === undefined) {
      await this.#restore(heard)
      return this.#load()
    }
    this.#knows({ id, version }, changes)
    this.#queue(changes)
  }

  #knows(heard: SettingsVersion, changes: readonly SettingChange[]): void {
    const ids = [...this.#ids, ...changes.map(({ id }) => id)]
    this.#heard = heard
    this.#ids = ids.slice(-REMEMBERED_CHANGES)
    this.currentAtMs = this.heardAtMs
  }

  #hear(nowUs: number): void {
    this.#storeUs = nowUs
    this.heardAtMs = this.#options.time.nowMs()
  }

  #storeNowUs(): number {
    const sinceMs = this.#options.time.nowMs() - (this.heardAtMs ?? 0)
    return this.#storeUs + sinceMs * 1_000
  }

  /** Reads all fields, and then what changed while it read them. */
  async #load(): Promise<void> {
    const { settings, name, prepare, loaded } = this.#options
    const before = await settings.news(name)
    const fields = new Map<string, string>()
    let cursor = '0'
    do {
      if (before.version === 0) break
      const page = await settings.page(name, cursor)
      for (let at = 0; at < page.fields.length; at += SLICE) {
        const slice = page.fields.slice(at, at + SLICE)
        prepare(slice)
        for (const [field, value] of slice) fields.set(field, value)
        await new Promise<void>((resolve) => this.#options.time.soon(resolve))
      }
      cursor = page.next
      if (fields.size > MOST_FIELDS) throw new Error(`there are over ${MOST_FIELDS} fields`)
    } while (cursor !== '0' && !this.#isClosed)
    const after = await settings.news(name, before)
    if (after.changes === undefined) throw new Error('they change too fast to be read')
    if (this.#isClosed) return
    this.#hear(after.nowUs)
    for (const { field, value } of after.changes) put(fields, field, value)
    // A field whose change does not hold yet keeps its earlier value until then.
    const known = [...(before.changes ?? []), ...after.changes]
    const ahead = known.filter(({ activeUs }) => activeUs > after.nowUs)
    for (const { field, was } of ahead.toReversed()) put(fields, field, was)
    this.#fields = fields
    this.#ids = []
    this.#knows(after, known)
    this.#pending = []
    this.version = ahead.length === 0 ? after.version : (ahead[0] as SettingChange).version - 1
    loaded(fields)
    this.#queue(ahead)
  }

  /** Writes back what the store has lost, and keeps what was set since. */
  async #restore(heard: SettingsVersion): Promise<void> {
    const { settings, name, lost } = this.#options
    const news = await settings.news(name)
    // Another process that knew as much, or more, has written it back already.
    if (news.restored >= heard.version || this.#isClosed) return
    const since = this.#since(news)
    if (since === undefined) {
      if (isWithout(news, heard)) lost('replaced')
      return
    }
    const fields = new Map(this.#fields)
    const changes: SettingChange[] = []
    for (const { change } of this.#pending) {
      put(fields, change.field, change.value)
      changes.push(change)
    }
    let { version } = heard
    for (const change of since) {
      version += 1
      changes.push({ ...change, version, was: fields.get(change.field) ?? '' })
      put(fields, change.field, change.value)
    }
    const { id } = since.at(-1) ?? heard
    const remembered = changes.slice(-REMEMBERED_CHANGES)
    const kept = { id, version, restored: heard.version, fields, changes: remembered }
    if (await settings.restore(name, news, kept)) lost('restored')
  }

  /** The changes made since the loss. Undefined: the store no longer remembers all of them. */
  #since({ version, restored, changes = [] }: SettingsNews): readonly SettingChange[] | undefined {
    const ids = new Set(this.#ids)
    const since: SettingChange[] = []
    let at = version
    for (const change of changes.toReversed()) {
      if (at === restored || change.version !== at || ids.has(change.id)) break
      since.unshift(change)
      at -= 1
    }
    const isWhole =
      at === restored || changes.some(({ id, version: of }) => of === at && ids.has(id))
    return isWhole ? since : undefined
  }

  #queue(changes: readonly SettingChange[]): void {
    const nowMs = this.#options.time.nowMs()
    for (const change of changes) {
      const waitMs = (change.activeUs - this.#storeNowUs()) / 1_000
      // If the store's clock has stepped back, its instants may be hours away.
      this.#pending.push({ change, dueMs: nowMs + Math.min(waitMs, 2 * LEAD_MS) })
    }
    this.#apply()
  }

  #apply(): void {
    const { time, changed } = this.#options
    this.#cancelChange()
    while (this.#pending[0] !== undefined && this.#pending[0].dueMs <= time.nowMs()) {
      const { change, dueMs } = this.#pending.shift() as Pending
      put(this.#fields, change.field, change.value)
      this.version = change.version
      changed(change, time.nowMs() - dueMs)
    }
    const [next] = this.#pending
    if (next === undefined || this.#isClosed) return
    this.#cancelChange = time.after(Math.ceil(next.dueMs - time.nowMs()), () => this.#apply())
  }
}

/** Whether the store has certainly lost this version, which this process had heard. */
function isWithout({ version, changes = [] }: SettingsNews, heard: SettingsVersion): boolean {
  if (version < heard.version) return true
  return changes.some((each) => each.version === heard.version && each.id !== heard.id)
}

function put(fields: Map<string, string>, field: string, value: string): void {
  if (value === '') fields.delete(field)
  else fields.set(field, value)
}
