// The signals that adaptive policies follow: functions that return the load, where 1 is the right
// load.

import { type Duration, durationMs } from '../base/duration.js'
import { invalid, typeError } from '../base/errors.js'
import { checkedOptions } from '../base/options.js'

/**
 * Returns the load since the last call, at once: 1 is right, above 1 is too much, below 0.9 leaves
 * room for more; undefined: nothing was measured. Called at most twice a second while requests come
 * in, that of `responses()` ten times.
 */
export type Signal = () => number | undefined

/** A signal to which each response is reported. */
export interface ResponseSignal extends Signal {
  /**
   * Reports a response.
   * @param tookMs how long the handler took, in ms
   * @param failed whether it failed. Default false
   */
  record(tookMs: number, failed?: boolean): void
  /**
   * Reports a client that left before its response. This counts as a slow response if the client
   * waited longer than `latency`, and otherwise not at all.
   * @param waitedMs how long the client waited, in ms
   */
  left(waitedMs: number): void
}

export interface EventLoopDelayOptions {
  /** The delay at which the load is 1. Default 50 ms. */
  readonly target?: Duration | undefined
}

export interface EventLoopUtilizationOptions {
  /** The fraction that is right, above 0 and at most 1. Default 0.9. */
  readonly target?: number | undefined
}

export interface ResponsesOptions {
  /** The mean response time at which the load is 1. Default: response times do not count. */
  readonly latency?: Duration | undefined
  /** The fraction of responses that may fail, above 0 and at most 1. Default: failures do not
   *  count. */
  readonly errors?: number | undefined
}

/** The signal is urgent once responses took as long in total as `ENOUGH` responses of the right
 *  latency, and on average `FAR_TOO_SLOW` times that latency, which rarely happens by chance. A
 *  response counts as at most `MOST_TIMES` the latency, so that one stuck response is not
 *  enough. */
const ENOUGH = 20
const FAR_TOO_SLOW = 1.5
const MOST_TIMES = 4

/** How often the delay of the event loop is measured, in ms. */
const RESOLUTION_MS = 10

/**
 * How late timers fire, at the 90th percentile. Only in Node.
 *
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION
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
 * The fraction of the time in which the event loop was busy. Only in Node.
 *
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION
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
 * How long responses take, or how many fail: the larger load. Report responses by `record`, or by
 * an adapter's middleware `recordResponses`.
 *
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION
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
    /** See `MaybeUrgent` in adaptive.ts. */
    isUrgent: () => cappedMs >= Math.max(ENOUGH, FAR_TOO_SLOW * count) * latencyMs,
  })
}

function checkPart(name: string, value: unknown): void {
  if (typeof value === 'number' && value > 0 && value <= 1) return
  throw invalid('WEIR_INVALID_OPTION', name, value, 'a number above 0 and at most 1', 'number')
}

/** Not imported, because bundlers for browsers could not resolve the import. */
function perfHooks(what: string): typeof import('node:perf_hooks') {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> }
  const hooks = process?.getBuiltinModule?.('perf_hooks')
  if (hooks?.monitorEventLoopDelay !== undefined) return hooks
  throw typeError('WEIR_INVALID_OPTION', `${what}() needs Node; give a function of your own`)
}
