// The controller of an adaptive limit of concurrency: how many requests a server should have in
// flight, the most that still add throughput. By Little's law that is throughput times the baseline
// latency, which responses have where nothing queues. Neither is known, and both change, so the
// limit is halved now and then, and whenever responses become much slower. Where throughput stays,
// the requests that were cut off had only queued. Where it falls, the latency that remains is the
// baseline.

/** What was seen while the limit stood. */
export interface Window {
  /** Mean response time, in ms; a response far beyond the usual time counts only in part. */
  readonly meanMs: number
  /** Mean response time where each response counts in full. */
  readonly fullMeanMs: number
  /** Responses per second that reached their clients. */
  readonly goodput: number
  /** The fraction of the requests that were refused, from 0 to 1. */
  readonly refused: number
  /** The fraction of the responses whose clients left first, from 0 to 1. */
  readonly left: number
}

const FIRST_LIMIT = 20
const LEAST_LIMIT = 2
const MOST_LIMIT = 100_000

/** The limit exceeds throughput x baseline by this factor, so that there is always a request to
 *  serve, and so that the limit grows while nothing queues. */
const HEADROOM = 1.25
/** Latencies differ by chance: a smaller change moves nothing. */
const DEAD_BAND = 0.15
/** At this multiple of the baseline there is a queue, or the server became slower. */
const SLOW = 2
/** Below this fraction of the baseline the server became faster. */
const FAST = 0.8
/** Below this fraction of the throughput before, halving the limit has cost throughput. */
const FALLEN = 0.8
/** Below this fraction of the latency before, halving the limit has shortened a queue. */
const SHORTER = 0.85
/** Below this fraction a queue of half the length cannot be the reason: the server itself became
 *  faster. */
const FASTER = 1 / 3
/** Where this fraction of the requests is refused, twice the limit would be reached as well. */
const CROWD = 0.5
/** Above this multiple of the throughput before, twice the limit shows that the limit was too
 *  low. */
const FOLLOWS = 1.5
/** Below this fraction of the requests, the refused ones may be a burst. */
const BURST = 0.1
/** How often the baseline is measured again, and the largest fraction of the time that this may
 *  take. */
const REFRESH_MS = 15_000
const PART_OF_PROBES = 1 / 25

/** A limit that was lowered to see what it is worth: the limit before, and what was seen there. */
interface Probe extends Pick<Window, 'goodput' | 'meanMs'> {
  readonly limit: number
  readonly startedMs: number
}

export class Controller {
  /** The mean response time to keep to, in ms; undefined: it is found out. */
  readonly targetMs: number | undefined
  /** Not rounded. */
  limit: number = FIRST_LIMIT
  /** Mean response time where nothing queues, in ms; undefined: not known yet. */
  baselineMs: number | undefined = undefined
  probe: Probe | undefined = undefined
  /** When the baseline is to be measured again. */
  refreshMs: number = Number.NEGATIVE_INFINITY
  isRefusing = false
  /** Whether throughput has always grown with the limit so far, and what it was at the lower
   *  limit. */
  isStarting = true
  lowerGoodput = 0
  /** Mean response time in the window before, in ms. */
  lastMs: number = Number.POSITIVE_INFINITY

  constructor(targetMs: number | undefined) {
    this.targetMs = targetMs
  }
}

/** Sets the limit after a window. Returns whether the limit or the server has changed, so that the
 *  traffic has to settle before the next window. */
export function update(controller: Controller, window: Window, nowMs: number): boolean {
  if (controller.probe !== undefined) return probed(controller, controller.probe, window, nowMs)
  const { meanMs, refused } = window
  const { baselineMs = meanMs, targetMs } = controller
  // One window is fast by chance, two are not.
  const isFast = Math.max(meanMs, controller.lastMs) < FAST * baselineMs
  controller.lastMs = meanMs
  controller.baselineMs = isFast ? meanMs : baselineMs
  if (isFast) controller.refreshMs = nowMs
  // A server that refuses nobody needs no other limit. One that begins to refuse has to fill up
  // first.
  const begins = refused > 0 && !controller.isRefusing
  controller.isRefusing = refused > 0
  if (refused === 0 || isFast || begins) return isFast || begins
  if (targetMs !== undefined) return approach(controller, targetMs, window)
  if (meanMs > SLOW * baselineMs || (refused > BURST && nowMs >= controller.refreshMs))
    return halve(controller, window, nowMs)
  if (controller.isStarting && refused > CROWD) return double(controller, window)
  return meanMs > FAST * baselineMs && approach(controller, baselineMs * HEADROOM, window)
}

function setLimit(controller: Controller, to: number): void {
  controller.limit = Math.min(MOST_LIMIT, Math.max(LEAST_LIMIT, to))
}

/** Moves the limit towards the one at which responses take `wantedMs`. Returns whether that is
 *  far. */
function approach(controller: Controller, wantedMs: number, { meanMs }: Window): boolean {
  const ratio = Math.min(HEADROOM, Math.max(0.5, wantedMs / meanMs))
  // A limit that is far too low grows in whole steps, and each has to show its effect.
  const isFar = ratio > 1 + DEAD_BAND
  if (isFar) setLimit(controller, controller.limit * ratio)
  else if (ratio > 1 || ratio < 1 - DEAD_BAND)
    setLimit(controller, controller.limit * (1 + (ratio - 1) / 2))
  return isFar
}

/** The first limit is nobody's choice: it may be far too low for this server. */
function double(controller: Controller, { goodput }: Window): boolean {
  controller.isStarting = goodput > FOLLOWS * controller.lowerGoodput
  controller.lowerGoodput = goodput
  setLimit(controller, controller.isStarting ? controller.limit * 2 : controller.limit / 2)
  return true
}

function halve(controller: Controller, { goodput, meanMs }: Window, startedMs: number): boolean {
  controller.probe = { limit: controller.limit, goodput, meanMs, startedMs }
  setLimit(controller, controller.limit / 2)
  return true
}

/** Judges what half of the limit has shown. */
function probed(controller: Controller, before: Probe, window: Window, nowMs: number): boolean {
  const { goodput, meanMs, left } = window
  // Where most clients leave, latencies show how long clients wait, not how long the server takes.
  const isQueue = meanMs < SHORTER * before.meanMs || left > 0.5
  const stays = goodput >= FALLEN * before.goodput && isQueue
  // A server that works worse under load becomes faster as well, but must not be loaded again and
  // again.
  const isFaster = !controller.isStarting && meanMs < FASTER * before.meanMs
  if (stays) controller.isStarting = false
  if (stays && !isFaster && controller.limit > LEAST_LIMIT)
    return halve(controller, window, before.startedMs)
  controller.baselineMs = meanMs
  controller.probe = undefined
  const tookMs = nowMs - before.startedMs
  controller.refreshMs = nowMs + Math.max(REFRESH_MS, tookMs / PART_OF_PROBES)
  if (isFaster) {
    // What was seen before says nothing about the faster server, so the search starts anew.
    controller.lowerGoodput = 0
    return double(controller, window)
  }
  // Little's law, where the throughput before is limit / latency.
  setLimit(controller, before.limit * Math.min(1, (meanMs / before.meanMs) * HEADROOM))
  return true
}
