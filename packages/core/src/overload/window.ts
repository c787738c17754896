// What is measured of the responses while a limit stands: one window after another.

/** What was seen while the limit stood. */
export interface Window {
  /** Mean response time, in ms; a response far beyond the usual time counts as a part of it. */
  readonly meanMs: number
  /** Mean response time where each response counts in full. */
  readonly fullMeanMs: number
  /** Responses per second that reached their clients. */
  readonly goodput: number
  /** The fraction of the requests that was refused, from 0 to 1. */
  readonly refused: number
  /** The fraction of the responses whose clients left before, from 0 to 1. */
  readonly left: number
}

export interface Measuring {
  /** Mean response time in the last window that ended, in ms; 0: none has. */
  readonly usualMs: number
  entered(): void
  refused(): void
  ended(tookMs: number, hasLeft: boolean): void
  /** Begins a window. */
  begin(nowMs: number): void
  /** Begins a window after a change: requests that are in flight, and take about `meanMs`, say
   *  nothing of what comes. */
  settle(nowMs: number, meanMs: number): void
  /** @param oldestMs when the oldest request in flight began; undefined: there is none */
  isSettled(nowMs: number, oldestMs: number | undefined): boolean
  /** Undefined: too little was seen, so the window goes on. */
  end(nowMs: number): Window | undefined
}

/** A window ends after this number of responses, or after a while with fewer. */
const ENOUGH = 200
const FEW = 40
const FEW_AFTER_MS = 1_000
/** A response counts as at most this multiple of the usual time, so that one alone says little. */
const MOST_TIMES = 10
/** After this number of response times, what began before a change has ended. */
const SETTLE_TIMES = 3

export function measuring(): Measuring {
  let usualMs = 0
  let changedMs = Number.NEGATIVE_INFINITY
  let settledMs = 0
  let startMs = 0
  let sumMs = 0
  let fullSumMs = 0
  let finished = 0
  let left = 0
  let entered = 0
  let refused = 0

  function begin(nowMs: number): void {
    startMs = nowMs
    sumMs = fullSumMs = finished = left = entered = refused = 0
  }

  return {
    get usualMs() {
      return usualMs
    },
    entered() {
      entered += 1
    },
    refused() {
      refused += 1
    },
    ended(tookMs, hasLeft) {
      if (hasLeft) left += 1
      else finished += 1
      fullSumMs += tookMs
      sumMs += usualMs === 0 ? tookMs : Math.min(tookMs, MOST_TIMES * usualMs)
    },
    begin,
    settle(nowMs, meanMs) {
      changedMs = nowMs
      settledMs = nowMs + SETTLE_TIMES * meanMs
      begin(nowMs)
    },
    isSettled: (nowMs, oldestMs = nowMs) => nowMs >= settledMs || oldestMs >= changedMs,
    end(nowMs) {
      const samples = finished + left
      const tookMs = nowMs - startMs
      const isFew = samples < ENOUGH && !(samples >= FEW && tookMs >= FEW_AFTER_MS)
      if (isFew || tookMs < 1.5 * usualMs) return undefined
      usualMs = sumMs / samples
      return {
        meanMs: usualMs,
        fullMeanMs: fullSumMs / samples,
        goodput: (finished * 1_000) / tookMs,
        refused: refused / Math.max(1, entered + refused),
        left: left / samples,
      }
    },
  }
}
