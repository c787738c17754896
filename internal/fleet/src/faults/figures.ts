// Statistics of samples, as pure functions. Times are in ms.
import type { Sample, Stall, Transition } from './client/protocol.js'

/** The most of `times` in any interval [t, t + windowMs). */
export function mostInAnyWindow(times: readonly number[], windowMs: number): number {
  const sorted = [...times].sort((a, b) => a - b)
  let most = 0
  let first = 0
  for (let last = 0; last < sorted.length; last += 1) {
    while ((sorted[last] as number) - (sorted[first] as number) >= windowMs) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}

/** The times at which requests were admitted: those of the answers, when the service lets them
 *  in. */
export function admissions(samples: readonly Sample[]): number[] {
  return samples.filter(({ allowed }) => allowed).map(({ at, ms }) => at + ms)
}

/**
 * The most that may pass in a time in which state may be lost any number of times: one limit for
 * each window touched.
 */
export function allowance(limit: number, windowMs: number, durationMs: number): number {
  return limit * (Math.floor(durationMs / windowMs) + 1)
}

/** A loss of data by Redis, which had all data before `from`, and no longer has them at `to`. */
export interface Loss {
  readonly from: number
  readonly to: number
}

/**
 * Requests to Redis that were on their way when a loss showed: sent before the first answer after
 * the loss, and answered after it.
 */
export function inFlightAt({ from, to }: Loss, samples: readonly Sample[]): number {
  const decided = samples.filter(({ degraded }) => !degraded)
  const after = decided.filter(({ at }) => at >= to)
  const shownAt = Math.min(...after.map(({ at, ms }) => at + ms))
  return decided.filter(({ at, ms }) => at <= shownAt && at + ms >= from).length
}

/** The admissions in each fixed window, in order. Windows end on whole ms. */
export function perWindow(samples: readonly Sample[]): number[] {
  const counts = new Map<number, number>()
  for (const { allowed, untilUs } of samples) {
    if (!allowed || untilUs === undefined) continue
    const end = Math.floor(untilUs / 1_000)
    counts.set(end, (counts.get(end) ?? 0) + 1)
  }
  return [...counts.entries()].sort(([a], [b]) => a - b).map(([, count]) => count)
}

/** The value below which this share of the values lies: 0.5 for the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export function shareOver(values: readonly number[], bound: number): number {
  return values.length === 0 ? 0 : values.filter((value) => value > bound).length / values.length
}

/**
 * Latencies without the time in which the machine gave the process no CPU though it was due to run.
 * Time in which the process itself used the CPU is included: a slow product is not a busy machine.
 */
export function latencies(samples: readonly Sample[], stalls: readonly Stall[]): number[] {
  return samples.map((sample) => sample.ms - starvedDuring(sample, stalls))
}

function starvedDuring({ at, ms }: Sample, stalls: readonly Stall[]): number {
  let starved = 0
  for (const stall of stalls) {
    const overlap = Math.min(at + ms, stall.at + stall.ms) - Math.max(at, stall.at)
    if (overlap > 0) starved += Math.min(overlap, starvation(stall))
  }
  return starved
}

/** The part of a stall that is due to the machine. */
export function starvation({ ms, ownMs }: Stall): number {
  return Math.max(0, ms - ownMs)
}

/**
 * The time from `from` to the first moment from which, for `calmMs`, every request is as it should
 * be. Infinity if there is none.
 */
export function timeToNormal(
  samples: readonly Sample[],
  from: number,
  isNormal: (sample: Sample) => boolean,
  calmMs = 1_000,
): number {
  const later = samples.filter(({ at }) => at >= from).sort((a, b) => a.at - b.at)
  let calmSince = from
  for (const sample of later) {
    if (!isNormal(sample)) calmSince = sample.at + sample.ms
    else if (sample.at - calmSince >= calmMs) return calmSince - from
  }
  return Number.POSITIVE_INFINITY
}

/** The longest time in which requests came and none was admitted. */
export function longestDenial(samples: readonly Sample[]): number {
  const sorted = [...samples].sort((a, b) => a.at - b.at)
  let longest = 0
  let since = sorted[0]?.at ?? 0
  for (const { at, allowed } of sorted) {
    longest = Math.max(longest, at - since)
    if (allowed) since = at
  }
  return longest
}

/** The openings of the breaker after the first one, each after it had found Redis well. */
export function flaps(transitions: readonly Transition[]): number {
  let isOpen = false
  let openings = 0
  for (const { state } of transitions) {
    if (state === 'open' && !isOpen) openings += 1
    isOpen = state === 'open'
  }
  return Math.max(0, openings - 1)
}

/** The intervals in which the breaker was in one of the states. The last one lasts until `end`. */
export function intervalsIn(
  transitions: readonly Transition[],
  states: readonly string[],
  end: number,
): { readonly from: number; readonly to: number }[] {
  return transitions
    .map(({ at, state }, i) => ({ from: at, to: transitions[i + 1]?.at ?? end, state }))
    .filter(({ state }) => states.includes(state))
}

/** The time from the first to the last; 0 if there are none. */
export function spread(times: readonly number[]): number {
  return times.length === 0 ? 0 : Math.max(...times) - Math.min(...times)
}
