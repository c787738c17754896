// A policy whose limit follows this process's load. It needs no timer: each use looks at the clock.

import { isPolicy, type Policy, scaledTo } from '../algorithms/policy.js'
import { memoized } from '../base/cache.js'
import { type Duration, durationMs } from '../base/duration.js'
import { invalid, quote, typeError } from '../base/errors.js'
import { isPromise } from '../base/maybe-async.js'
import { type Checks, checkAll, ofType, unchecked } from '../base/options.js'
import { processTime, type Time } from '../base/time.js'
import { notify, warnOnce } from '../base/warnings.js'
import type { PolicyOfKey } from '../live/types.js'
import { inSteps, STEPS, steering } from './factor.js'
import type { Signal } from './signals.js'

export interface AdaptiveOptions {
  /** What the factor follows: a signal, or a function of your own. Default: none, for `warmUp`
   *  alone. */
  readonly signal?: Signal | undefined
  /** The smallest factor, from 1/32 to `max`. Default 1/8. */
  readonly min?: number | undefined
  /** The largest factor, from `min` to 1. Default 1. */
  readonly max?: number | undefined
  /** How long the factor takes from `min` to `max` after a start, and after as long without use.
   *  Default: it starts at `max`. */
  readonly warmUp?: Duration | undefined
  /** Called when the factor has changed. What it throws becomes a warning. */
  readonly onChange?: ((factor: number, before: number) => void) | undefined
}

/** A function that returns the policy of the moment: give it to a limiter as its `policy`. Among
 *  several policies, call it for each decision: `policy: () => [adapted(), daily]`. */
export interface AdaptivePolicy extends PolicyOfKey {
  /** The factor at its last use, from `min` to `max`. */
  readonly factor: number
  /** The policy at its last use. Reading it does not count as a use. */
  readonly current: Policy
}

/** How often a signal is asked, and how often an urgent one is: requests that come in before the
 *  next look add to the backlog. */
const LOOK_MS = 500
const SOON_MS = 100
/** A longer time without a look is a pause of the traffic or of the process, and the signal
 *  describes only the pause. */
const PAUSE_MS = 2_000

/**
 * A policy whose limit and rate follow this process's load: both are multiplied by a factor from
 * `min` to `max`, in steps of 1/32. The limit is a whole number, at least 1. The factor is halved
 * at most twice a second (ten times if `responses()` are slow), and rises by 1/32 twice a second.
 *
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_POLICY, WEIR_INVALID_OPTION, WEIR_INVALID_DURATION
 * @example
 * const policy = adaptive(tokenBucket({ capacity: 100, refill: 100, every: '1s' }), {
 *   signal: eventLoopDelay({ target: '50ms' }),
 *   min: 0.25,
 * })
 * const limiter = new RateLimiter({ name: 'api', policy })
 */
export function adaptive(policy: Policy, options: AdaptiveOptions): AdaptivePolicy {
  return adaptiveIn(processTime, policy, options)
}

/** `adaptive` by another clock than the process's. */
export function adaptiveIn(time: Time, policy: Policy, options: AdaptiveOptions): AdaptivePolicy {
  if (!isPolicy(policy) || policy.kernel === undefined) {
    const right = 'one policy that has a limit: tokenBucket({...}), slidingWindow({...}), ...'
    throw invalid('WEIR_INVALID_POLICY', 'policy', policy, right)
  }
  checkAll(options, 'adaptive()', CHECKS)
  const { signal, min = 1 / 8, max = 1, onChange } = options
  const warmUpMs = options.warmUp === undefined ? 0 : durationMs(options.warmUp, 'warmUp')
  if (signal === undefined && warmUpMs === 0)
    throw typeError('WEIR_INVALID_OPTION', 'adaptive() follows nothing; give signal or warmUp')
  if (min > max) throw invalid('WEIR_INVALID_OPTION', 'min', min, `at most max, ${max}`, 'number')

  const scaled = new Map<number, Policy>()
  let current = policy
  let factor = warmUpMs > 0 ? min : max
  const steer = steering(min, max)
  let steered = max
  let usedMs = Number.NEGATIVE_INFINITY
  const heard = signal === undefined ? undefined : hearingOf(signal)
  let lookedMs = Number.NEGATIVE_INFINITY
  let warmFromMs = Number.NEGATIVE_INFINITY
  current = at(factor)

  function at(to: number): Policy {
    if (policy.limit === 0) return policy
    const limit = Math.max(1, Math.round(policy.limit * to))
    if (limit === policy.limit) return policy
    const known = scaled.get(limit) ?? scaledTo(policy, limit)
    scaled.set(limit, known)
    return known
  }

  function look({ atMs, load }: Hearing): void {
    const isPause = atMs - lookedMs >= PAUSE_MS
    lookedMs = atMs
    if (load !== undefined && !isPause) steered = steer(load, factor, atMs)
  }

  function warmed(nowMs: number): number {
    if (nowMs - usedMs >= warmUpMs) warmFromMs = nowMs
    return min + ((max - min) * (nowMs - warmFromMs)) / warmUpMs
  }

  function use(): Policy {
    const nowMs = time.nowMs()
    if (heard !== undefined) {
      listen(heard, policy.name, nowMs)
      if (heard.atMs !== lookedMs) look(heard)
    }
    const most = warmUpMs > 0 ? warmed(nowMs) : max
    usedMs = nowMs
    const to = most < steered ? inSteps(most, min, max) : steered
    if (to === factor) return current
    const before = factor
    factor = to
    current = at(to)
    if (onChange) notify('onChange', policy.name, () => onChange(to, before))
    return current
  }

  const ofKey = Object.assign(use, { takesKey: true } as const)
  return Object.defineProperties(ofKey, {
    factor: { get: () => factor },
    current: { get: () => current },
  }) as AdaptivePolicy
}

/** What a signal said last, and when. Asking a signal begins a new measurement, so policies that
 *  follow one signal share its answer. */
interface Hearing {
  readonly signal: MaybeUrgent
  atMs: number
  load: number | undefined
}

const hearingOf = memoized((signal: MaybeUrgent): Hearing => {
  return { signal, atMs: Number.NEGATIVE_INFINITY, load: undefined }
})

/** A signal of `responses()` also has a function that is not public: whether to ask it early. */
type MaybeUrgent = Signal & { readonly isUrgent?: () => boolean }

function listen(hearing: Hearing, name: string, nowMs: number): void {
  const sinceMs = nowMs - hearing.atMs
  if (sinceMs < SOON_MS || (sinceMs < LOOK_MS && !hearing.signal.isUrgent?.())) return
  hearing.load = asked(hearing.signal, name)
  hearing.atMs = nowMs
}

/** A signal's answer; undefined where it has none, or none that makes sense. */
function asked(signal: Signal, name: string): number | undefined {
  let load: unknown
  try {
    load = signal()
  } catch (error) {
    warnOfSignal(name, `threw: ${quote(error)}`)
    return undefined
  }
  if (load === undefined || (typeof load === 'number' && load >= 0)) return load
  // Nobody handles its rejection, which must not end the process.
  if (isPromise(load)) Promise.resolve(load).catch(() => {})
  warnOfSignal(name, `gave ${quote(load)}`)
  return undefined
}

function warnOfSignal(name: string, what: string): void {
  const right = 'it must return a number from 0, or undefined; the factor does not change'
  warnOnce('WEIR_SIGNAL_FAILED', name, `the signal of adaptive policy "${name}" ${what}; ${right}`)
}

function factorBound(value: unknown, name: string): void {
  if (typeof value === 'number' && value >= 1 / STEPS && value <= 1) return
  throw invalid('WEIR_INVALID_OPTION', name, value, 'a number from 1/32 to 1', 'number')
}

const CHECKS: Checks<AdaptiveOptions> = {
  signal: ofType('function'),
  min: factorBound,
  max: factorBound,
  warmUp: unchecked,
  onChange: ofType('function'),
}
