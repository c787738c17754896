// Small settings that all processes on a store share, beside its counters: what limits are kept by
// that change while a fleet runs. Stores may have them (`Store.settings`); `storeConformance`
// checks those that do.

/**
 * Settings of a store, by name: fields with texts, and a version that grows with each change.
 * @experimental
 */
export interface Settings {
  /** What has changed since a version; all changes that are remembered where none is given. */
  news(name: string, since?: SettingsVersion): Promise<SettingsNews>
  /** Some of the fields; the next ones by `next`, until that is `'0'`, which is also the first.
   *  What changes meanwhile may be in a page or not. */
  page(name: string, cursor: string): Promise<SettingsPage>
  /** Changes one field for all, atomically. What it already is, is no change. */
  change(name: string, change: SettingRequest): Promise<SettingAnswer>
  /** Writes all settings anew, after a loss. Answers whether it did: only in place of the version
   *  `over`, atomically. */
  restore(name: string, over: SettingsVersion, kept: KeptSettings): Promise<boolean>
  /**
   * Keeps what a process makes of the settings, for `ttlMs`, in place of what it reported before;
   * `''` removes it. Optional, as `reports` is: without them nobody sees elsewhere what holds in a
   * process.
   * @param process a mark that no other process has
   */
  report?(name: string, process: string, text: string, ttlMs: number): Promise<void>
  /** What is kept of processes, of 1,000 at the most. */
  reports?(name: string): Promise<readonly SettingsReport[]>
  /**
   * Tells all processes on the store that somebody watches for the next `ttlMs`, which are 6,000 to
   * 60,000: they hear of it by their next heartbeat, within 3 s. To be repeated well before that is
   * over. Rejects with a `StoreError`, and with WEIR_INVALID_OPTION for another `ttlMs`. Optional,
   * as `onWatched` is.
   */
  watch?(ttlMs: number): Promise<void>
  /**
   * Calls `listener` with true when somebody begins to watch, at once where somebody does already,
   * and with false when nobody does any more: at the latest `ttlMs` after the last `watch` was
   * answered, also where the store has gone away, and when the store is closed. Asks nothing of the
   * store by itself: without heartbeats (no decision yet, or the store's option `instances` says
   * how many processes there are) nothing is heard. What the listener throws becomes a warning.
   * Returns what ends it.
   * @example const stop = settings.onWatched?.((isWatched) => (isWatched ? start() : end()))
   */
  onWatched?(listener: (isWatched: boolean) => void): () => void
  /** A key as it may stand in a field, where the store hides keys. */
  readonly hidden?: ((key: string) => string) | undefined
}

/** Which version of settings. */
export interface SettingsVersion {
  /** Made up for each change: two versions of one number are the same if their ids are. `''`: there
   *  are no settings. */
  readonly id: string
  /** Whole, from 1, and 1 more with each change; 0: there are no settings. */
  readonly version: number
}

/** What has changed. */
export interface SettingsNews extends SettingsVersion {
  /** The store's clock, in us since the Unix epoch. */
  readonly nowUs: number
  /** The version that was written back after the last loss: changes after it were made since. 0:
   *  none was. */
  readonly restored: number
  /** The changes since, the oldest first. Undefined: the store does not remember the version that
   *  was given, or not all changes since; read the pages. */
  readonly changes: readonly SettingChange[] | undefined
}

/** Some of the fields. */
export interface SettingsPage {
  /** What to ask the next page by; `'0'`: this was the last. */
  readonly next: string
  /** Without those that were removed; a field may be in several pages. */
  readonly fields: readonly (readonly [field: string, value: string])[]
}

/** All settings, as a process knows them. */
export interface KeptSettings extends SettingsVersion {
  /** The version that the process knew before the loss. */
  readonly restored: number
  /** What is set, with all changes. */
  readonly fields: Iterable<readonly [field: string, value: string]>
  /** Changes to be remembered, at most 100: those made since the loss, and those that do not hold
   *  yet. */
  readonly changes: readonly SettingChange[]
}

/** A change of one field: which version it made, and how. */
export interface SettingChange extends SettingsVersion {
  /** When it was made, in us of the store's clock. */
  readonly nowUs: number
  /** From when it holds, in us of the store's clock. */
  readonly activeUs: number
  /** Which field. */
  readonly field: string
  /** `''`: the field was removed. */
  readonly value: string
  /** What it was before; `''`: it was not there. */
  readonly was: string
}

/** What is to be changed. */
export interface SettingRequest {
  /** Of the version that the change makes: a text that no other change has. */
  readonly id: string
  /** How long after the change it holds, in us. */
  readonly leadUs: number
  /** One line of text, as is the value; that of a counted field begins with `'='`. */
  readonly field: string
  /** `''` removes the field. */
  readonly value: string
  /** The most fields that are counted. */
  readonly most: number
}

/** What has been changed; with the version before where nothing was. */
export interface SettingAnswer extends SettingChange {
  /** `'full'`: there are as many counted fields as there may be. */
  readonly outcome: 'changed' | 'same' | 'full'
}

/** What a process has reported. */
export interface SettingsReport {
  /** Ends with the mark of the process; the store may put before it where the process runs. */
  readonly process: string
  /** What it reported last. */
  readonly text: string
}

/** How many changes a store remembers of each name. */
export const REMEMBERED_CHANGES = 100

/** Fields that are counted, so that there are not too many. */
export function isCounted(field: string): boolean {
  return field.startsWith('=')
}
