// Limiters that are switched off and on by hand, in all processes that are watched: written to the
// settings of their store as fields `.off:<limiter>`. A process follows the changes that are made
// after its start, so that it begins as its code says.

import { randomBytes } from 'node:crypto'
import type { SettingsNews } from '@weir/core/store'
import type { Time } from '../time.js'
import { SETTINGS_NAME, type WatchableSettings } from './settings.js'

const FIELD = '.off:'
/** Fields are not counted, so this is not reached. */
const MOST = 10_000

export interface SwitchesOptions {
  readonly settings: WatchableSettings
  readonly time: Time
  /** When this process began to follow, on the steady clock. */
  readonly bornMs: number
  /** Switches the limiters of a name that count on this store. */
  readonly apply: (limiter: string, isOn: boolean) => void
}

export class Switches {
  readonly #options: SwitchesOptions
  #known: Pick<SettingsNews, 'id' | 'version'> | undefined
  /** The last change that was followed, by the store's clock, in us. */
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
    // They are not all remembered, or the store has lost them.
    if (news.changes === undefined) news = await settings.news(SETTINGS_NAME)
    this.#known = { id: news.id, version: news.version }
    this.#followedUs ??= news.nowUs - (askedMs - bornMs) * 1_000
    for (const { field, value, nowUs } of news.changes ?? []) {
      if (nowUs <= this.#followedUs || !field.startsWith(FIELD)) continue
      this.#followedUs = nowUs
      apply(field.slice(FIELD.length), !value.startsWith('off'))
    }
  }

  /** Switches a limiter for all processes that are watched, this one included once it reads. */
  async write(limiter: string, isOn: boolean): Promise<void> {
    const { settings, time } = this.#options
    // A change is one only if the text is another one.
    const value = `${isOn ? 'on' : 'off'} ${Math.round(time.nowMs())} ${randomBytes(6).toString('hex')}`
    const id = randomBytes(12).toString('hex')
    const field = `${FIELD}${limiter}`
    await settings.change(SETTINGS_NAME, { id, leadUs: 0, field, value, most: MOST })
  }
}
