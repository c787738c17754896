// How many requests are in flight, and how many may be. In memory, of this process alone.

import type { Time } from '../base/time.js'
import { FIRST_LIMIT, limitLaw } from './law.js'

/** A request that is in flight. */
export interface Ticket {
  readonly startMs: number
}

/** How a request ended: its response was handed over, or its client left before. */
export type Ending = 'finished' | 'left'

export interface InFlight {
  /** The most that may be in flight, a whole number. */
  readonly limit: number
  /** Requests in flight. */
  readonly inFlight: number
  /** Mean response time where nothing queues, in ms; undefined: not known yet. */
  readonly quietMs: number | undefined
  /** A ticket, or undefined: there are as many in flight as may be. */
  enter(): Ticket | undefined
  /** Once for each ticket. */
  leave(ticket: Ticket, ending: Ending): void
}

/** How often windows are looked at, and how late that may be before it is a pause of the
 *  process. */
const TICK_MS = 100
const PAUSE_MS = 1_000
/** A window ends with so many responses, or after a while with fewer. */
const ENOUGH = 200
const FEW = 40
const FEW_AFTER_MS = 1_000
/** A request counts so long: ten seconds, or so many times what is usual. One that is stuck must
 *  not hold a place for ever. */
const STUCK_MS = 10_000
const STUCK_TIMES = 30
/** A response counts as at most so many times the usual, so that one alone says little. */
const MOST_TIMES = 10
/** What began before a change is gone after so many response times. */
const SETTLE_TIMES = 3

/** @param targetMs the mean response time to keep to; undefined: found out */
export function inFlightLimit(targetMs: number | undefined, time: Time): InFlight {
  const law = limitLaw(targetMs)
  /** The oldest first. */
  const tickets = new Set<Ticket>()
  let limit = FIRST_LIMIT
  /** Of the window before. */
  let usualMs: number | undefined
  let isTicking = false
  /** Whether there was a request since the last tick. */
  let isUsed = false
  let tickMs = 0
  /** What began before a change says nothing of what is now; and how long to wait for its end. */
  let changedMs = Number.NEGATIVE_INFINITY
  let settledMs = 0
  /** The window. */
  let startMs = 0
  let sumMs = 0
  let rawSumMs = 0
  let finished = 0
  let left = 0
  let entered = 0
  let refused = 0

  function begin(nowMs: number): void {
    startMs = nowMs
    sumMs = rawSumMs = finished = left = entered = refused = 0
  }

  function settle(nowMs: number, meanMs: number): void {
    changedMs = nowMs
    settledMs = nowMs + SETTLE_TIMES * meanMs
    begin(nowMs)
  }

  function isSettled(nowMs: number): boolean {
    const [oldest] = tickets
    return nowMs >= settledMs || oldest === undefined || oldest.startMs >= changedMs
  }

  function tick(): void {
    const nowMs = time.nowMs()
    const isPaused = nowMs - tickMs > TICK_MS + PAUSE_MS
    forgetStuck(nowMs)
    // After a pause everything in flight looks slow.
    if (isPaused) settle(nowMs, usualMs ?? 0)
    else if (!isSettled(nowMs)) begin(nowMs)
    else look(nowMs)
    tickMs = nowMs
    isTicking = tickets.size > 0 || isUsed
    isUsed = false
    if (isTicking) time.after(TICK_MS, tick)
  }

  function look(nowMs: number): void {
    const samples = finished + left
    const tookMs = nowMs - startMs
    const isFew = samples < ENOUGH && !(samples >= FEW && tookMs >= FEW_AFTER_MS)
    if (isFew || tookMs < 1.5 * (usualMs ?? 0)) return
    const meanMs = sumMs / samples
    const slowerMs = Math.max(rawSumMs / samples, usualMs ?? 0)
    usualMs = meanMs
    const asked = entered + refused
    const window = {
      meanMs,
      goodput: (finished * 1_000) / tookMs,
      refused: asked === 0 ? 0 : refused / asked,
      left: left / samples,
    }
    const isOther = law.next(window, nowMs)
    limit = Math.round(law.limit)
    if (isOther) settle(nowMs, slowerMs)
    else begin(nowMs)
  }

  function forgetStuck(nowMs: number): void {
    const oldest = nowMs - Math.max(STUCK_MS, STUCK_TIMES * (usualMs ?? 0))
    for (const ticket of tickets) {
      if (ticket.startMs > oldest) return
      tickets.delete(ticket)
    }
  }

  function wake(): void {
    isTicking = true
    tickMs = time.nowMs()
    begin(tickMs)
    time.after(TICK_MS, tick)
  }

  return {
    get limit() {
      return limit
    },
    get inFlight() {
      return tickets.size
    },
    get quietMs() {
      return law.quietMs
    },

    enter() {
      if (!isTicking) wake()
      isUsed = true
      if (tickets.size >= limit) {
        refused += 1
        return undefined
      }
      entered += 1
      const ticket = { startMs: time.nowMs() }
      tickets.add(ticket)
      return ticket
    },

    leave(ticket, ending) {
      // One that is stuck says nothing of the others.
      if (!tickets.has(ticket)) return
      const tookMs = time.nowMs() - ticket.startMs
      const restMs = (usualMs ?? 0) - tookMs
      if (ending === 'left' && restMs > 0) {
        // The handler goes on, most likely, though nobody waits for it.
        time.after(restMs, () => void tickets.delete(ticket))
        return
      }
      tickets.delete(ticket)
      if (ending === 'left') left += 1
      else finished += 1
      rawSumMs += tookMs
      sumMs += usualMs === undefined ? tookMs : Math.min(tookMs, MOST_TIMES * usualMs)
    },
  }
}
