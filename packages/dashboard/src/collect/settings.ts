// What is used of a store's settings.

import type { Settings } from '@weir/core/store'

/** Under which processes report, and what is switched off stands. */
export const SETTINGS_NAME = 'weir-dashboard'

/** Settings of a store that knows whether somebody watches. */
export interface WatchableSettings
  extends Pick<Settings, 'news' | 'change'>,
    Required<Pick<Settings, 'report' | 'reports'>> {
  /** Tells all processes, by their next heartbeat, that somebody watches for the next `ttlMs`. */
  watch(ttlMs: number): Promise<void>
  /** Called when somebody begins or ceases to watch. Returns what ends it. */
  onWatched(listener: (isWatched: boolean) => void): () => void
}

/** Undefined: processes on such a store cannot see each other. */
export function watchable(settings: Settings | undefined): WatchableSettings | undefined {
  const { report, reports, watch, onWatched } = (settings ?? {}) as Partial<WatchableSettings>
  const has = [report, reports, watch, onWatched].every((each) => typeof each === 'function')
  return has ? (settings as unknown as WatchableSettings) : undefined
}
