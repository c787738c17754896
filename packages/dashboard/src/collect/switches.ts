// Limiters that somebody switches off and on, in all processes that are watched: written to their
// store's settings as fields `.off:<limiter>`. A process follows only changes that are made after
// its start, so that it begins as its code says.

import { randomBytes } from 'node:crypto'
import type { SettingsNews } from '@weir/core/store'
import type { Time } from '../time.js'
import { SETTINGS_NAME, type WatchableSettings } from './settings.js'

const FIELD = '.off:'
/** The settings ask for a maximum; these fields are not counted, so it is never reached. */
const MOST = 10_000

export interface SwitchesOptions {
  readonly settings: WatchableSettings
  readonly time: Time
  /** When this process began to follow, on the steady clock. */
  readonly bornMs: number
  /** Switches the limiters of that name that count on this store. */
  readonly apply: (limiter: string, isOn: boolean) => void
}

export class Switches {
  readonly #options: SwitchesOptions
  #known: Pick<SettingsNews, 'id' | 'version'> | undefined
  /** When the last change that was followed was made, by the store's clock, in us. */
  #followedUs: number | undefined

  constructor(options: SwitchesOptions) {
    this.#options = options
  }

  /** Follows what has changed since the last time. */
  async read(): Promise<void> {
    const { settings, time, bornMs, apply } = this.#options
    const askedMs = time.steadyMs()
    const known = this.#known
    let news = await settings.news(SETTINGS_NAME, known)
    // In the order of their versions, so a step back of the store's clock does not matter.
    let areAllNew = known !== undefined
    if (news.changes === undefined) {
      // The store no longer remembers all changes, or has lost them.
      news = await settings.news(SETTINGS_NAME)
      areAllNew = false
    }
    this.#known = { id: news.id, version: news.version }
    this.#followedUs ??= news.nowUs - (askedMs - bornMs) * 1_000
    for (const { field, value, nowUs } of news.changes ?? []) {
      if (!field.startsWith(FIELD)) continue
      if (!areAllNew && nowUs <= this.#followedUs) continue
      this.#followedUs = nowUs
      apply(field.slice(FIELD.length), !value.startsWith('off'))
    }
  }

  /** Switches a limiter in all processes that are watched; in this one at its next `read`. */
  async write(limiter: string, isOn: boolean): Promise<void> {
    const { settings, time } = this.#options
    // Random bytes, because a change counts as one only if the text differs.
    const value = `${isOn ? 'on' : 'off'} ${Math.round(time.nowMs())} ${randomBytes(6).toString('hex')}`
    const id = randomBytes(12).toString('hex')
    const field = `${FIELD}${limiter}`
    await settings.change(SETTINGS_NAME, { id, leadUs: 0, field, value, most: MOST })
  }
}
