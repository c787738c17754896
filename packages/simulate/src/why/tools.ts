// How this group sees a live store: what the command `weir` of @weir/core hands over beyond what
// all groups use. packages/core/src/cli/open-store.ts makes it.

import type { RedisStore } from '@weir/core'
import type { LiveProcess, LiveSetting } from '@weir/core/live'
import type { SettingsNews } from '@weir/core/store'

/** Which store to ask. */
export interface StorePlace {
  readonly redis?: string | undefined
  readonly cluster?: boolean | undefined
  readonly prefix?: string | undefined
  readonly hashTags?: number | undefined
}

/** What a setting is about. */
export type Field = Omit<LiveSetting, 'policy'>

/** What the store keeps about the live policies of a name. */
export interface LiveState {
  readonly news: SettingsNews
  /** What is set, by field, as text. */
  readonly fields: ReadonlyMap<string, string>
  /** Processes that have reported in the last 15 s. */
  readonly processes: readonly LiveProcess[]
}

/** A store that is only read: it does not count among the processes that share the limits. */
export interface AskedStore {
  readonly store: RedisStore
  /** The last error that the client reported. */
  readonly trouble: () => Error | undefined
  readonly close: () => void
  readonly live: (name: string) => Promise<LiveState>
  /** Undefined: Weir did not write the text. */
  readonly fieldOf: (text: string) => Field | undefined
  /** The name of a key in a field. */
  readonly nameOfKey: (key: string) => string
}
