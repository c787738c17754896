// What a limiter holds in this process: slots whose work is in progress. What outlives a third of
// its time is renewed, together with all that is due soon, so that renewals share calls.
//
// A renewal that fails is tried again. Once slots have expired they are taken anew, past the limit
// if need be: an outage must not end what is in progress.

import { withPage } from '../../base/errors.js'
import type { Time } from '../../base/time.js'
import { promiseOf } from '../../layer.js'
import type { StoreResult } from '../../store.js'
import { type Releasing, releaseSlots, type Slots } from './slots.js'

/** A slot is renewed after this part of its time, so that two renewals may fail. */
const RENEWED_AFTER = 1 / 3
/** What is due within this part of the time is renewed with what is due now. */
const TOGETHER = 1 / 12

export interface HoldLimits {
  /** Whether the signal aborts when the slot has expired. */
  readonly isAborted: boolean
  /** How long the work may take, in ms; `Infinity`: as long as it takes. */
  readonly maxHoldMs: number
}

/** Work in progress that holds slots. */
export class Hold {
  readonly slots: Slots
  readonly controller: AbortController = new AbortController()
  readonly isAborted: boolean
  /** All in ms of the process. */
  renewAtMs: number
  expiresAtMs: number
  readonly endsAtMs: number
  /** Its expiry was counted. */
  hasExpired = false

  constructor(slots: Slots, limits: HoldLimits, nowMs: number) {
    this.slots = slots
    this.isAborted = limits.isAborted
    this.renewAtMs = nowMs + slots.holdMs * RENEWED_AFTER
    this.expiresAtMs = nowMs + slots.holdMs
    this.endsAtMs = nowMs + limits.maxHoldMs
  }

  /** When there is something to do. */
  get dueAtMs(): number {
    const expiry = this.hasExpired ? Number.POSITIVE_INFINITY : this.expiresAtMs
    return Math.min(this.renewAtMs, this.endsAtMs, expiry)
  }
}

export class Holds {
  readonly #releasing: Releasing
  readonly #time: Time
  readonly #expired: (slots: Slots) => void
  readonly #holds: Set<Hold> = new Set()
  #alarmAtMs = Number.POSITIVE_INFINITY
  #cancel: (() => void) | undefined

  /** @param expired called when slots have expired before they were renewed */
  constructor(releasing: Releasing, time: Time, expired: (slots: Slots) => void) {
    this.#releasing = releasing
    this.#time = time
    this.#expired = expired
  }

  /** How many are in progress. */
  get size(): number {
    return this.#holds.size
  }

  add(slots: Slots, limits: HoldLimits): Hold {
    const hold = new Hold(slots, limits, this.#time.nowMs())
    this.#holds.add(hold)
    this.#setAlarm(hold.dueAtMs)
    return hold
  }

  /** The work has ended. */
  async release(hold: Hold): Promise<void> {
    this.#holds.delete(hold)
    await releaseSlots(this.#releasing, hold.slots)
  }

  /** From now on nothing is renewed: what is in progress is left to expire. */
  expire(): void {
    this.#holds.clear()
    this.#cancel?.()
    this.#cancel = undefined
    this.#alarmAtMs = Number.POSITIVE_INFINITY
  }

  #setAlarm(atMs: number): void {
    if (atMs >= this.#alarmAtMs) return
    this.#cancel?.()
    this.#alarmAtMs = atMs
    const ms = Math.min(Math.max(1, Math.ceil(atMs - this.#time.nowMs())), LONGEST_TIMER_MS)
    // What is in progress keeps the process alive by itself.
    this.#cancel = this.#time.after(ms, () => this.#ring())
  }

  #ring(): void {
    const nowMs = this.#time.nowMs()
    this.#alarmAtMs = Number.POSITIVE_INFINITY
    this.#cancel = undefined
    let nextMs = Number.POSITIVE_INFINITY
    for (const hold of this.#holds) {
      this.#see(hold, nowMs)
      if (this.#holds.has(hold)) nextMs = Math.min(nextMs, hold.dueAtMs)
    }
    this.#setAlarm(nextMs)
  }

  #see(hold: Hold, nowMs: number): void {
    // By its decision.
    if (hold.slots.isReleased) {
      this.#holds.delete(hold)
      return
    }
    if (nowMs >= hold.endsAtMs) {
      // Its slots are released when the work ends, or expire.
      this.#holds.delete(hold)
      hold.controller.abort(ended('maxHold is over'))
      return
    }
    if (nowMs >= hold.expiresAtMs && !hold.hasExpired) {
      hold.hasExpired = true
      this.#expired(hold.slots)
      if (hold.isAborted) {
        this.#holds.delete(hold)
        hold.controller.abort(ended('its slot has expired, as it could not be renewed in time'))
        return
      }
    }
    const { holdMs, renewing } = hold.slots
    if (renewing === undefined && hold.renewAtMs <= nowMs + holdMs * TOGETHER)
      this.#renew(hold, nowMs)
  }

  #renew(hold: Hold, nowMs: number): void {
    const { slots } = hold
    hold.renewAtMs = nowMs + slots.holdMs * RENEWED_AFTER
    const renewed = (result: StoreResult): void => {
      slots.untilUs = result.untilUs
      if (result.degraded) return
      // From when it was asked, which is before the store took them.
      hold.expiresAtMs = nowMs + slots.holdMs
      hold.hasExpired = false
    }
    const failed = (): void => {
      hold.renewAtMs = Math.min(hold.renewAtMs, this.#time.nowMs() + slots.holdMs * TOGETHER)
      if (this.#holds.has(hold)) this.#setAlarm(hold.dueAtMs)
    }
    slots.renewing = promiseOf(this.#releasing.layer, slots.request('renew'))
      .then(renewed, failed)
      .then(() => {
        slots.renewing = undefined
      })
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1

function ended(why: string): Error {
  const code = 'WEIR_HOLD_ENDED'
  return Object.assign(new Error(withPage(code, `what is in progress should end: ${why}`)), {
    code,
  })
}
