// Counts the requests in flight, measures how long their responses take, and finds out how many may
// be in flight (controller.ts). It works in memory, for this process alone.

import { reservedUnits } from '../base/reserved-units.js'
import type { Time } from '../base/time.js'
import { Controller, update, type Window } from './controller.js'

/** A request that is in flight. */
export interface Ticket {
  readonly startMs: number
}

/** How a request ended: its response was handed over, or its client left first, or nothing will
 *  show it. */
export type Ending = 'finished' | 'left' | 'unknown'

export interface InFlight {
  /** The most that may be in flight, a whole number. */
  readonly limit: number
  /** Requests in flight. */
  readonly inFlight: number
  /** Mean response time where nothing queues, in ms; undefined: not known yet. */
  readonly baselineMs: number | undefined
  /**
   * A ticket; undefined: the limit is reached.
   * @param reserve the fraction of the limit that this request leaves to others, from 0 to 1.
   * Default 0
   */
  enter(reserve?: number): Ticket | undefined
  /** To be called once for each ticket. */
  leave(ticket: Ticket, ending: Ending): void
}

/** How often the window is looked at, and how late a look may be before it counts as a pause of the
 *  process. */
const TICK_MS = 100
const PAUSE_MS = 1_000
/** A request counts for ten seconds, or for this multiple of the usual time, whichever is longer.
 *  One that is stuck must not hold a place for ever. */
const STUCK_MS = 10_000
const STUCK_TIMES = 30
/** A window ends after this number of responses, or after a while with fewer. */
const ENOUGH = 200
const FEW = 40
const FEW_AFTER_MS = 1_000
/** A response counts as at most this multiple of the usual time, so that a single one weighs
 *  little. */
const MOST_TIMES = 10
/** Refusals raise the limit only if their requests may fill at least this fraction of it. The limit
 *  grows until such requests find room, so it is at most twice what they need. */
const LEAST_SHARE = 1 / 2
/** After this number of response times, requests that began before a change have ended. */
const SETTLE_TIMES = 3

/** @param targetMs the mean response time to keep to; undefined: it is found out */
export function inFlightLimit(targetMs: number | undefined, time: Time): InFlight {
  const controller = new Controller(targetMs)
  const seen = measuring()
  /** The oldest first. */
  const tickets = new Set<Ticket>()
  const use = ticking(time, () => tickets.size > 0, seen.begin, look)

  function look(nowMs: number, isPaused: boolean): void {
    forgetStuck(nowMs)
    const [oldest] = tickets
    // After a pause everything in flight looks slow.
    if (isPaused) seen.settle(nowMs, seen.usualMs)
    else if (!seen.isSettled(nowMs, oldest?.startMs)) seen.begin(nowMs)
    else judgeWindow(nowMs)
  }

  function judgeWindow(nowMs: number): void {
    const { usualMs } = seen
    const window = seen.end(nowMs)
    if (window === undefined) return
    if (update(controller, window, nowMs)) seen.settle(nowMs, Math.max(window.fullMeanMs, usualMs))
    else seen.begin(nowMs)
  }

  function forgetStuck(nowMs: number): void {
    const oldest = nowMs - Math.max(STUCK_MS, STUCK_TIMES * seen.usualMs)
    for (const ticket of tickets) {
      if (ticket.startMs > oldest) return
      tickets.delete(ticket)
    }
  }

  return {
    get limit() {
      return Math.round(controller.limit)
    },
    get inFlight() {
      return tickets.size
    },
    get baselineMs() {
      return controller.baselineMs
    },

    enter(reserve = 0) {
      use()
      const limit = Math.round(controller.limit)
      const rest = limit - reservedUnits(reserve, limit)
      // The reserve of a small limit may be all of it; even then one request at a time goes on.
      const isRefused = tickets.size >= (reserve < 1 ? Math.max(1, rest) : 0)
      if (!isRefused || reserve <= 1 - LEAST_SHARE) seen.asked(isRefused)
      if (isRefused) return undefined
      const ticket = { startMs: time.nowMs() }
      tickets.add(ticket)
      return ticket
    },

    leave(ticket, ending) {
      // A request that was stuck says nothing about the others.
      if (!tickets.has(ticket)) return
      if (ending === 'unknown') {
        tickets.delete(ticket)
        return
      }
      const tookMs = time.nowMs() - ticket.startMs
      const restMs = seen.usualMs - tookMs
      if (ending === 'left' && restMs > 0) {
        // The handler most likely goes on, although nobody waits for it.
        time.after(restMs, () => void tickets.delete(ticket))
        return
      }
      tickets.delete(ticket)
      seen.ended(tookMs, ending === 'left')
    },
  }
}

/**
 * Ticks while requests come in or are in flight.
 * @returns what to call for each request
 */
function ticking(
  time: Time,
  isBusy: () => boolean,
  begin: (nowMs: number) => void,
  look: (nowMs: number, isPaused: boolean) => void,
): () => void {
  let isTicking = false
  /** Whether a request has come in since the last tick. */
  let isUsed = false
  let tickMs = 0

  function tick(): void {
    const nowMs = time.nowMs()
    look(nowMs, nowMs - tickMs > TICK_MS + PAUSE_MS)
    tickMs = nowMs
    isTicking = isUsed || isBusy()
    isUsed = false
    if (isTicking) time.after(TICK_MS, tick)
  }

  return () => {
    isUsed = true
    if (isTicking) return
    isTicking = true
    tickMs = time.nowMs()
    begin(tickMs)
    time.after(TICK_MS, tick)
  }
}

/** Measures responses while a limit stands, one window after another. */
function measuring() {
  /** Mean response time in the last window that ended, in ms; 0: none has. */
  let usualMs = 0
  let changedMs = Number.NEGATIVE_INFINITY
  let settledMs = 0
  let startMs = 0
  let sumMs = 0
  let fullSumMs = 0
  let finished = 0
  let left = 0
  let asked = 0
  let refused = 0

  /** Begins a window. */
  function begin(nowMs: number): void {
    startMs = nowMs
    sumMs = fullSumMs = finished = left = asked = refused = 0
  }

  return {
    get usualMs() {
      return usualMs
    },
    asked(isRefused: boolean) {
      asked += 1
      if (isRefused) refused += 1
    },
    ended(tookMs: number, hasLeft: boolean) {
      if (hasLeft) left += 1
      else finished += 1
      fullSumMs += tookMs
      sumMs += usualMs === 0 ? tookMs : Math.min(tookMs, MOST_TIMES * usualMs)
    },
    begin,
    /** Begins a window after a change: requests in flight, which take about `meanMs`, say nothing
     *  about those that follow. */
    settle(nowMs: number, meanMs: number) {
      changedMs = nowMs
      settledMs = nowMs + SETTLE_TIMES * meanMs
      begin(nowMs)
    },
    /** @param oldestMs when the oldest request in flight began */
    isSettled: (nowMs: number, oldestMs = nowMs) => nowMs >= settledMs || oldestMs >= changedMs,
    /** Undefined: too little was seen, so the window goes on. */
    end(nowMs: number): Window | undefined {
      const samples = finished + left
      const tookMs = nowMs - startMs
      const isFew = samples < ENOUGH && !(samples >= FEW && tookMs >= FEW_AFTER_MS)
      if (isFew || tookMs < 1.5 * usualMs) return undefined
      usualMs = sumMs / samples
      return {
        meanMs: usualMs,
        fullMeanMs: fullSumMs / samples,
        goodput: (finished * 1_000) / tookMs,
        refused: refused / Math.max(1, asked),
        left: left / samples,
      }
    },
  }
}
