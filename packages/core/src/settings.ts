// Small settings that all processes on a store share, beside its counters: they keep the limits
// that change while a fleet runs. Stores may have settings (`Store.settings`); `storeConformance`
// checks the stores that do.

/**
 * Settings of a store, by name: fields with texts, and a version that grows with each change.
 * @experimental
 */
export interface Settings {
  /** The changes since a version; without a version, all changes that are remembered. */
  news(name: string, since?: SettingsVersion): Promise<SettingsNews>
  /** Some of the fields. The first cursor is `'0'`; each page's `next` is the cursor of the one
   *  after it, until that is `'0'` again. A field that changes meanwhile may be in a page or
   *  not. */
  page(name: string, cursor: string): Promise<SettingsPage>
  /** Changes one field for all processes, atomically. To set the value that a field already has is
   *  no change. */
  change(name: string, change: SettingRequest): Promise<SettingAnswer>
  /** Writes all settings anew after a loss, atomically, and only in place of the version `over`.
   *  Answers whether it did. */
  restore(name: string, over: SettingsVersion, kept: KeptSettings): Promise<boolean>
  /**
   * Keeps a process's report of the settings for `ttlMs`, in place of its previous report; `''`
   * removes it. Optional, like `reports`: without them, no other process sees what holds in this
   * one.
   * @param process a mark that no other process has
   */
  report?(name: string, process: string, text: string, ttlMs: number): Promise<void>
  /** The reports that are kept, of at most 1,000 processes. */
  reports?(name: string): Promise<readonly SettingsReport[]>
  /**
   * Tells all processes on the store that somebody watches for the next `ttlMs`, 6,000 to 60,000.
   * They hear it with their next heartbeat, within 3 s. Repeat it well before that time is over.
   * Rejects with a `StoreError`, and with WEIR_INVALID_OPTION for another `ttlMs`. Optional, as
   * `onWatched` is.
   */
  watch?(ttlMs: number): Promise<void>
  /**
   * Calls `listener` with true when somebody begins to watch (at once if somebody does already),
   * and with false when nobody watches any more: at the latest `ttlMs` after the last `watch` was
   * answered, also if the store has gone away, and when the store is closed. It sends nothing to
   * the store, so without heartbeats (before the first decision, or with the store's option
   * `instances`) it hears nothing. An error that the listener throws becomes a warning. Returns a
   * function that ends it.
   * @example const stop = settings.onWatched?.((isWatched) => (isWatched ? start() : end()))
   */
  onWatched?(listener: (isWatched: boolean) => void): () => void
  /** Where the store hides keys: a key as it may stand in a field. */
  readonly hidden?: ((key: string) => string) | undefined
}

/** A version of settings. */
export interface SettingsVersion {
  /** Made up for each change: two versions with the same number are the same if their ids are.
   *  `''`: there are no settings. */
  readonly id: string
  /** A whole number from 1, which grows by 1 with each change; 0: there are no settings. */
  readonly version: number
}

/** The changes since a version. */
export interface SettingsNews extends SettingsVersion {
  /** The store's clock, in us since the Unix epoch. */
  readonly nowUs: number
  /** The version that was written back after the last loss: changes after it were made since. 0:
   *  none has been. */
  readonly restored: number
  /** The changes since that version, the oldest first. Undefined: the store does not remember the
   *  version that was given, or not all changes since; read the pages. */
  readonly changes: readonly SettingChange[] | undefined
}

/** Some of the fields. */
export interface SettingsPage {
  /** The cursor of the next page; `'0'`: this was the last. */
  readonly next: string
  /** Fields that have not been removed; a field may be in several pages. */
  readonly fields: readonly (readonly [field: string, value: string])[]
}

/** All settings, as a process knows them. */
export interface KeptSettings extends SettingsVersion {
  /** The version that the process knew before the loss. */
  readonly restored: number
  /** The fields that are set, with all changes. */
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
  /** The field that changed. */
  readonly field: string
  /** `''`: the field was removed. */
  readonly value: string
  /** The value before; `''`: the field was not there. */
  readonly was: string
}

/** A change to make. */
export interface SettingRequest {
  /** The id of the version that the change makes: a text that no other change has. */
  readonly id: string
  /** How long after the change is made it takes effect, in us. */
  readonly leadUs: number
  /** The field: one line of text, like the value. A counted field begins with `'='`. */
  readonly field: string
  /** `''` removes the field. */
  readonly value: string
  /** The most counted fields that there may be. */
  readonly most: number
}

/** What was changed; where nothing was, with the version before. */
export interface SettingAnswer extends SettingChange {
  /** `'full'`: there are as many counted fields as there may be. */
  readonly outcome: 'changed' | 'same' | 'full'
}

/** What a process has reported. */
export interface SettingsReport {
  /** Ends with the process's mark; the store may put in front where the process runs. */
  readonly process: string
  /** The process's last report. */
  readonly text: string
}

/** How many changes a store remembers for each name. */
export const REMEMBERED_CHANGES = 100

/** Whether a field is counted, so that there are not too many of them. */
export function isCounted(field: string): boolean {
  return field.startsWith('=')
}
