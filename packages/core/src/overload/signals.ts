// What an adaptive policy follows: functions that say how large the load is, 1 being as much as is
// right.

import { type Duration, durationMs } from '../base/duration.js'
import { invalid, typeError } from '../base/errors.js'
import { checkedOptions } from '../base/options.js'

/**
 * The load since it was last asked: 1 is as much as is right, above 1 is too much, below 0.9 is
 * room for more. Undefined: there is nothing to say, so the factor stays. Called at most twice a
 * second, while requests come; that of `responses()` up to ten times. It must not wait.
 */
export type Signal = () => number | undefined

/** A signal to which each response is reported. */
export interface ResponseSignal extends Signal {
  /**
   * Tells it of a response.
   * @param tookMs how long the handler took, in ms
   * @param failed whether it failed. Default false
   */
  record(tookMs: number, failed?: boolean): void
  /**
   * Tells it of a client that left before its response. It counts as a slow response if it has
   * waited for longer than `latency`, and else not at all.
   * @param waitedMs how long it waited, in ms
   */
  left(waitedMs: number): void
}

export interface EventLoopDelayOptions {
  /** The delay that is right. Default 50 ms. */
  readonly target?: Duration | undefined
}

export interface EventLoopUtilizationOptions {
  /** The part of the time in which the event loop may be busy, above 0 and at most 1. Default
   *  0.9. */
  readonly target?: number | undefined
}

export interface ResponsesOptions {
  /** The mean time of a response that is right. Default: times are not looked at. */
  readonly latency?: Duration | undefined
  /** The part of the responses that may fail, above 0 and at most 1. Default: failures are not
   *  looked at. */
  readonly errors?: number | undefined
}

/** Responses are looked at before their time once they took as long, in all, as `ENOUGH` right
 *  ones, and on average `FAR_TOO_SLOW` times as long as is right, which chance alone rarely does.
 *  One counts as `MOST_TIMES` at most, so that one stuck response is not enough. */
const ENOUGH = 20
const FAR_TOO_SLOW = 1.5
const MOST_TIMES = 4

/** How often the delay of the event loop is measured, in ms. */
const RESOLUTION_MS = 10

/**
 * How late timers are called, at the 90th percentile: the signal for work that holds the event loop
 * up. Only in Node.
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION
 * @example
 * const full = tokenBucket({ capacity: 100, refill: 100, every: '1s' })
 * const policy = adaptive(full, { signal: eventLoopDelay({ target: '50ms' }), min: 0.25 })
 */
export function eventLoopDelay(options: EventLoopDelayOptions = {}): Signal {
  checkedOptions(options, 'eventLoopDelay()', ['target'])
  const targetMs = durationMs(options.target ?? 50, 'target')
  const histogram = perfHooks('eventLoopDelay').monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  return () => {
    if (histogram.count === 0) return undefined
    const delayMs = histogram.percentile(90) / 1_000_000 - RESOLUTION_MS
    histogram.reset()
    return Math.max(0, delayMs) / targetMs
  }
}

/**
 * The part of the time in which the event loop was busy. Only in Node.
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
 * @example
 * const full = tokenBucket({ capacity: 100, refill: 100, every: '1s' })
 * const policy = adaptive(full, { signal: eventLoopUtilization({ target: 0.8 }), min: 0.25 })
 */
export function eventLoopUtilization(options: EventLoopUtilizationOptions = {}): Signal {
  checkedOptions(options, 'eventLoopUtilization()', ['target'])
  const { target = 0.9 } = options
  checkPart('target', target)
  const { performance } = perfHooks('eventLoopUtilization')
  let last = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization / target
  }
}

/**
 * How long responses take, how many fail, or both: the larger load of the two. Tell it of responses
 * by `record`, or by the middleware `recordResponses` of an adapter.
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION
 * @example
 * const signal = responses({ latency: '200ms', errors: 0.05 })
 * const policy = adaptive(tokenBucket({ capacity: 50, refill: 500, every: '1s' }), { signal })
 */
export function responses(options: ResponsesOptions): ResponseSignal {
  checkedOptions(options, 'responses()', ['latency', 'errors'])
  const { latency, errors } = options
  if (latency === undefined && errors === undefined)
    throw typeError('WEIR_INVALID_OPTION', 'responses() follows nothing; give latency or errors')
  const latencyMs =
    latency === undefined ? Number.POSITIVE_INFINITY : durationMs(latency, 'latency')
  if (errors !== undefined) checkPart('errors', errors)
  let count = 0
  let sumMs = 0
  let cappedMs = 0
  let failures = 0

  function load(): number | undefined {
    if (count === 0) return undefined
    const failing = errors === undefined ? 0 : failures / count / errors
    const most = Math.max(sumMs / count / latencyMs, failing)
    count = sumMs = cappedMs = failures = 0
    return most
  }

  function record(tookMs: number, failed = false): void {
    if (!(tookMs >= 0 && tookMs < Number.POSITIVE_INFINITY)) return
    count += 1
    sumMs += tookMs
    cappedMs += Math.min(tookMs, MOST_TIMES * latencyMs)
    if (failed) failures += 1
  }

  return Object.assign(load, {
    record,
    left(waitedMs: number) {
      if (waitedMs > latencyMs) record(waitedMs)
    },
    /** See `MaybeUrgent` of adaptive.ts. */
    isUrgent: () => cappedMs >= Math.max(ENOUGH, FAR_TOO_SLOW * count) * latencyMs,
  })
}

function checkPart(name: string, value: unknown): void {
  if (typeof value === 'number' && value > 0 && value <= 1) return
  throw invalid('WEIR_INVALID_OPTION', name, value, 'a number above 0 and at most 1', 'number')
}

/** Not by an import, which bundles for browsers could not resolve. */
function perfHooks(what: string): typeof import('node:perf_hooks') {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> }
  const hooks = process?.getBuiltinModule?.('perf_hooks')
  if (hooks?.monitorEventLoopDelay !== undefined) return hooks
  throw typeError('WEIR_INVALID_OPTION', `${what}() needs Node; give a function of your own`)
}
