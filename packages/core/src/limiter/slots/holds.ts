// The slots that a limiter holds in this process while work is in progress. A slot is renewed after
// a third of its time, together with all that are due soon, so that renewals share calls.
//
// A failed renewal is tried again. Slots that have expired are taken anew, past the limit if need
// be: an outage must not end work in progress.

import { withPage } from '../../base/errors.js'
import type { Time } from '../../base/time.js'
import { type Releasing, releaseSlots, type Slots } from './slots.js'

/** A slot is renewed after this part of its time, so that two renewals may fail. */
const RENEWED_AFTER = 1 / 3
/** Slots that are due within this part of their time are renewed with those due now. */
const TOGETHER = 1 / 12

export interface HoldLimits {
  /** Whether the signal aborts when the slot has expired. */
  readonly isAborted: boolean
  /** How long the work may take, in ms; `Infinity`: as long as it takes. */
  readonly maxHoldMs: number
  /** Given: the slots are not renewed, and this is called when they have expired. */
  readonly lapse?: () => void
}

/** Work in progress that holds slots. All times are in ms of the process; `Infinity`: never. */
export class Hold {
  readonly slots: Slots
  readonly controller: AbortController = new AbortController()
  readonly isAborted: boolean
  readonly lapse: (() => void) | undefined
  renewAtMs: number
  expiresAtMs: number
  endsAtMs: number
  /** False: its slots are left to expire. */
  isRenewed = true

  constructor(slots: Slots, limits: HoldLimits, nowMs: number) {
    this.slots = slots
    this.isAborted = limits.isAborted
    this.lapse = limits.lapse
    this.renewAtMs = nowMs + slots.holdMs * RENEWED_AFTER
    this.expiresAtMs = nowMs + slots.holdMs
    this.endsAtMs = nowMs + limits.maxHoldMs
    if (limits.lapse !== undefined) this.leave()
  }

  get dueAtMs(): number {
    return Math.min(this.renewAtMs, this.endsAtMs, this.expiresAtMs)
  }

  leave(): void {
    this.isRenewed = false
    this.renewAtMs = Number.POSITIVE_INFINITY
  }

  abort(why: string): void {
    this.leave()
    this.controller.abort(ended(why))
  }
}

export class Holds {
  readonly #releasing: Releasing
  readonly #time: Time
  readonly #expired: (slots: Slots) => void
  /** Those that are not released. */
  readonly #holds: Set<Hold> = new Set()
  #isRenewing = true
  #alarmAtMs = Number.POSITIVE_INFINITY
  #cancel: (() => void) | undefined

  /** @param expired called when slots have expired before they were renewed */
  constructor(releasing: Releasing, time: Time, expired: (slots: Slots) => void) {
    this.#releasing = releasing
    this.#time = time
    this.#expired = expired
  }

  add(slots: Slots, limits: HoldLimits): Hold {
    const hold = new Hold(slots, limits, this.#time.nowMs())
    if (!this.#isRenewing) hold.leave()
    this.#holds.add(hold)
    this.#setAlarm(hold.dueAtMs)
    return hold
  }

  /** The work has ended. */
  async release(hold: Hold): Promise<void> {
    this.#holds.delete(hold)
    if (this.#holds.size === 0) this.#endAlarm()
    await releaseSlots(this.#releasing, hold.slots)
  }

  /** From now on, nothing is renewed: slots of work in progress are left to expire. */
  expire(): void {
    this.#isRenewing = false
    for (const hold of this.#holds) hold.leave()
  }

  #setAlarm(atMs: number): void {
    if (atMs >= this.#alarmAtMs) return
    this.#endAlarm()
    this.#alarmAtMs = atMs
    const ms = Math.min(Math.max(1, Math.ceil(atMs - this.#time.nowMs())), LONGEST_TIMER_MS)
    // Work in progress keeps the process alive by itself.
    this.#cancel = this.#time.after(ms, () => this.#ring())
  }

  #endAlarm(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#alarmAtMs = Number.POSITIVE_INFINITY
  }

  #ring(): void {
    const nowMs = this.#time.nowMs()
    this.#endAlarm()
    let nextMs = Number.POSITIVE_INFINITY
    for (const hold of this.#holds) {
      // Released by its decision, or forgotten.
      if (hold.slots.isReleased) this.#holds.delete(hold)
      else {
        this.#see(hold, nowMs)
        nextMs = Math.min(nextMs, hold.dueAtMs)
      }
    }
    this.#setAlarm(nextMs)
  }

  #see(hold: Hold, nowMs: number): void {
    if (nowMs >= hold.endsAtMs) {
      hold.endsAtMs = Number.POSITIVE_INFINITY
      hold.abort('maxHold is over')
    }
    if (nowMs >= hold.expiresAtMs) {
      hold.expiresAtMs = Number.POSITIVE_INFINITY
      this.#expired(hold.slots)
      if (hold.isAborted) hold.abort('its slot expired before it was renewed')
      hold.lapse?.()
    }
    if (hold.renewAtMs <= nowMs + hold.slots.holdMs * TOGETHER) this.#renew(hold, nowMs)
  }

  #renew(hold: Hold, nowMs: number): void {
    const { slots } = hold
    // No second renewal begins before this one has ended.
    hold.renewAtMs = Number.POSITIVE_INFINITY
    slots.renewing = slots.renew(this.#releasing.layer).then((isKnown) => {
      slots.renewing = undefined
      if (slots.isReleased) return
      if (hold.isRenewed) {
        // Counted from when the renewal was asked for, which is before the store took the slots.
        // After a failure, tried again soon: the store may be back.
        if (isKnown) hold.expiresAtMs = nowMs + slots.holdMs
        hold.renewAtMs = isKnown
          ? nowMs + slots.holdMs * RENEWED_AFTER
          : this.#time.nowMs() + slots.holdMs * TOGETHER
      }
      this.#setAlarm(hold.dueAtMs)
    })
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

function ended(why: string): Error {
  const code = 'WEIR_HOLD_ENDED'
  return Object.assign(new Error(withPage(code, `the work should end: ${why}`)), {
    code,
  })
}
