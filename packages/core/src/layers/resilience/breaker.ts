// The circuit breaker of one Redis node: after enough failures no request is risked on it; a probe in the background tells
// when it is back. A pure state machine: time and chance are handed in.
//
//   closed --5 failures in a row, or half of 20 and more within 1 s--> open
//   open   --a probe succeeds--> half-open (what was admitted locally is settled) --settled--> closed
//   open   --a probe fails--> open, and the wait doubles up to 1 s
//   half-open --settling fails--> open

import { quote } from '../../base/errors.js'
import { warnOnce } from '../../base/warnings.js'

export type BreakerState = 'closed' | 'open' | 'half-open'

/** What the Redis store needs of a breaker; hand in another one through the option `breaker`. */
export interface Breaker {
  readonly state: BreakerState
  /** A call was answered. */
  succeeded(nowMs: number): void
  /** A call failed, or the client was not ready, for a reason that concerns the whole node. */
  failed(nowMs: number): void
  /** While open: when the next probe is due. */
  readonly probeAtMs: number
  /** How a probe ended. A good one makes it half-open. */
  probed(good: boolean, nowMs: number): void
  /** Half-open: whether all that was admitted locally is settled. */
  settled(good: boolean, nowMs: number): void
}

const STREAK = 5
const SAMPLE = 20
const SAMPLE_MS = 1_000
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 1_000
/** Opening again within this time of closing is a flap, and doubles the first wait. */
const CALM_MS = 30_000

/** @param random from 0 to 1, for the jitter of 50 to 100 % on every wait */
export function circuitBreaker(random: () => number = Math.random): Breaker {
  let state: BreakerState = 'closed'
  let streak = 0
  let sample = { sinceMs: 0, calls: 0, failures: 0 }
  let waitMs = 0
  let probeAtMs = 0
  let flaps = 0
  let closedAtMs = Number.NEGATIVE_INFINITY

  function count(nowMs: number, failures: number): void {
    if (nowMs - sample.sinceMs >= SAMPLE_MS) sample = { sinceMs: nowMs, calls: 0, failures: 0 }
    sample.calls += 1
    sample.failures += failures
  }

  function open(nowMs: number, wait: number): void {
    state = 'open'
    waitMs = Math.min(wait, LONGEST_WAIT_MS)
    probeAtMs = nowMs + waitMs * (0.5 + random() / 2)
  }

  return {
    get state() {
      return state
    },
    get probeAtMs() {
      return probeAtMs
    },
    succeeded(nowMs) {
      streak = 0
      count(nowMs, 0)
    },
    failed(nowMs) {
      streak += 1
      count(nowMs, 1)
      const half = sample.calls >= SAMPLE && 2 * sample.failures >= sample.calls
      if (state !== 'closed' || (streak < STREAK && !half)) return
      flaps = nowMs - closedAtMs < CALM_MS ? flaps + 1 : 0
      open(nowMs, FIRST_WAIT_MS * 2 ** flaps)
    },
    probed(good, nowMs) {
      if (state !== 'open') return
      if (good) state = 'half-open'
      else open(nowMs, 2 * waitMs)
    },
    settled(good, nowMs) {
      if (state !== 'half-open') return
      if (!good) {
        open(nowMs, 2 * waitMs)
        return
      }
      state = 'closed'
      closedAtMs = nowMs
      streak = 0
      sample = { sinceMs: nowMs, calls: 0, failures: 0 }
    },
  }
}

/** A breaker that was handed in; and, from when it throws or says nonsense, one of ours in its stead. */
export function guardedBreaker(foreign: () => Breaker, node: string): Breaker {
  let breaker: Breaker | undefined
  const own = circuitBreaker()

  function asked<Value>(
    ask: (breaker: Breaker) => Value,
    isSound: (value: Value) => boolean,
  ): Value {
    try {
      breaker ??= foreign()
      const value = ask(breaker)
      if (isSound(value)) return value
      throw new TypeError(`it said ${quote(value)}`)
    } catch (error) {
      if (breaker !== own) {
        warnOnce(
          'WEIR_BREAKER_FAILED',
          node,
          `the breaker of ${node} failed, and is replaced: ${quote(error)}`,
        )
      }
      breaker = own
      return ask(own)
    }
  }
  const told = (tell: (breaker: Breaker) => void): void => asked(tell, () => true)

  return {
    get state() {
      return asked(
        ({ state }) => state,
        (state) => ['closed', 'open', 'half-open'].includes(state),
      )
    },
    get probeAtMs() {
      return asked(({ probeAtMs }) => probeAtMs, Number.isFinite)
    },
    succeeded: (nowMs) => told((some) => some.succeeded(nowMs)),
    failed: (nowMs) => told((some) => some.failed(nowMs)),
    probed: (good, nowMs) => told((some) => some.probed(good, nowMs)),
    settled: (good, nowMs) => told((some) => some.settled(good, nowMs)),
  }
}
