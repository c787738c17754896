// Small settings that all processes on a store share, beside its counters: what limits are kept by
// that change while a fleet runs. Stores may have them (`Store.settings`); `storeConformance`
// checks those that do.

/** Settings of a store, by name: fields with texts, and a version that grows with each change. */
export interface Settings {
  /** What has changed since a version; all that is remembered where there is none. */
  news(name: string, since?: SettingsVersion): Promise<SettingsNews>
  /** Some of the fields; the next ones by `next`, until that is `'0'`, which is also the first.
   *  What changes meanwhile may be in a page or not. */
  page(name: string, cursor: string): Promise<SettingsPage>
  /** Changes one field for all, atomically. What it already is, is no change. */
  change(name: string, change: SettingRequest): Promise<SettingAnswer>
  /**
   * Writes settings that the store has lost, unless it has those of this id in this version or a
   * later one, or those of another id. Answers whether it did.
   */
  restore(
    name: string,
    version: SettingsVersion,
    fields: Iterable<readonly [string, string]>,
  ): Promise<boolean>
  /** A key as it may stand in a field, where the store hides keys. */
  readonly hidden?: ((key: string) => string) | undefined
}

/** Which settings, and how often they have changed. */
export interface SettingsVersion {
  /** Made up when the first field is written: another one, other settings. `''`: there are none. */
  readonly id: string
  /** Whole, from 1; 0: there are none. */
  readonly version: number
}

/** What has changed. */
export interface SettingsNews extends SettingsVersion {
  /** The store's clock, in us since the Unix epoch. */
  readonly nowUs: number
  /** The changes since, the oldest first. Undefined: not all of them are remembered, or they are
   *  those of other settings; read the pages. */
  readonly changes: readonly SettingChange[] | undefined
}

/** Some of the fields. */
export interface SettingsPage {
  /** What to ask the next page by; `'0'`: this was the last. */
  readonly next: string
  /** Without those that were removed; a field may be in several pages. */
  readonly fields: readonly (readonly [field: string, value: string])[]
}

/** A change of one field. */
export interface SettingChange {
  /** From it on. */
  readonly version: number
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
  /** For settings that are not there yet. */
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

/** How many changes a store remembers of each name. */
export const REMEMBERED_CHANGES = 100

/** Fields that are counted, so that there are not too many. */
export function isCounted(field: string): boolean {
  return field.startsWith('=')
}
