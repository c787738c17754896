// The parts of a store's settings that the dashboard uses.

import type { Settings } from '@weir/core/store'

/** The name under which processes report, and under which switches are kept. */
export const SETTINGS_NAME = 'weir-dashboard'

/** Settings of a store that can tell whether somebody watches. */
export interface WatchableSettings
  extends Pick<Settings, 'news' | 'change'>,
    Required<Pick<Settings, 'report' | 'reports'>> {
  /** Tells all processes, by their next heartbeat, that somebody watches for the next `ttlMs`. */
  watch(ttlMs: number): Promise<void>
  /** Calls back when somebody begins or ceases to watch. Returns a function that ends the calls. */
  onWatched(listener: (isWatched: boolean) => void): () => void
}

/** The settings, if they can tell who watches. Undefined: processes cannot see each other. */
export function watchable(settings: Settings | undefined): WatchableSettings | undefined {
  const { report, reports, watch, onWatched } = (settings ?? {}) as Partial<WatchableSettings>
  const has = [report, reports, watch, onWatched].every((each) => typeof each === 'function')
  return has ? (settings as unknown as WatchableSettings) : undefined
}
