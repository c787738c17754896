// What the command `weir` of @weir/core hands over, beyond what all groups use: how this group sees
// a live store. packages/core/src/cli/open-store.ts makes it.

import type { LiveProcess, LiveSetting, RedisStore } from '@weir/core'
import type { SettingsNews } from '@weir/core/store'

/** Which store. */
export interface StorePlace {
  readonly redis?: string | undefined
  readonly cluster?: boolean | undefined
  readonly prefix?: string | undefined
  readonly hashTags?: number | undefined
}

/** What a setting is of. */
export type Field = Omit<LiveSetting, 'policy'>

/** What is kept of the live policies of a name. */
export interface LiveState {
  readonly news: SettingsNews
  /** What is set, as text. */
  readonly fields: ReadonlyMap<string, string>
  /** What has reported in the last 15 s. */
  readonly processes: readonly LiveProcess[]
}

/** A store that is only asked: it does not count among the processes that share the limits. */
export interface AskedStore {
  readonly store: RedisStore
  /** What the client complained of last. */
  readonly trouble: () => Error | undefined
  readonly close: () => void
  readonly live: (name: string) => Promise<LiveState>
  /** Undefined: Weir has not written it. */
  readonly fieldOf: (text: string) => Field | undefined
  /** What a key is called in a field. */
  readonly nameOfKey: (key: string) => string
}
