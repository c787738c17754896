// Which limit of what is in flight a server takes: the most that still adds throughput. By
// Little's law that is throughput times the latency that responses have where nothing queues (the
// quiet latency). Neither is known, and both change: so the limit is halved now and then, and
// whenever responses become much slower. Where throughput stays, what was cut off had only queued.
// Where it falls, the latency that is left is the quiet one.

/** What was seen while the limit stood. */
export interface Window {
  /** Mean time of the responses, in ms. */
  readonly meanMs: number
  /** Responses that reached their clients, per second. */
  readonly goodput: number
  /** The part of the requests that was refused, from 0 to 1. */
  readonly refused: number
  /** The part of the responses whose clients left before, from 0 to 1. */
  readonly left: number
}

/** One who lowers the limit to see what it is worth: the level before, and what was seen there. */
interface Probe {
  readonly limit: number
  readonly goodput: number
  readonly meanMs: number
  readonly startedMs: number
}

export const FIRST_LIMIT = 20
const LEAST_LIMIT = 2
const MOST_LIMIT = 100_000

/** Above throughput x quiet latency, so that there is always somebody to serve, and so that the
 *  limit grows while nothing queues. */
const HEADROOM = 1.25
/** Latencies differ by chance: a smaller change moves nothing. */
const DEAD_BAND = 0.15
/** So many times the quiet latency is a queue, or a server that became slower. */
const SLOW = 2
/** Such a part of it is a server that became faster. */
const FAST = 0.8
/** The part of the throughput below which half of the limit has cost some. */
const FALLEN = 0.8
/** Such a part of the latency, at half of the limit, is a queue that became shorter. */
const SHORTER = 0.85
/** Such a part is more than a queue of half the length: the server itself became faster. */
const FASTER = 1 / 3
/** Where that part of the requests is refused, twice the limit would be reached, too. */
const CROWD = 0.5
/** So many times the throughput, at twice the limit, is a limit that was too low. */
const FOLLOWS = 1.5
/** Below that part of the requests, what is refused may be a burst. */
const BURST = 0.1
/** The quiet latency is measured anew so often; and at most for such a part of the time. */
const REFRESH_MS = 15_000
const PART_OF_PROBES = 1 / 25

export interface LimitLaw {
  /** Not rounded. */
  readonly limit: number
  /** Mean response time without a queue, in ms; undefined: not known yet. */
  readonly quietMs: number | undefined
  /** What a window says of the limit. Returns whether what is seen next is another matter, so that
   *  the traffic has to settle first. */
  next(window: Window, nowMs: number): boolean
}

/** @param targetMs the mean response time to keep to; undefined: found out */
export function limitLaw(targetMs: number | undefined): LimitLaw {
  let limit = FIRST_LIMIT
  let quietMs: number | undefined
  let probe: Probe | undefined
  /** When the quiet latency is to be measured anew. */
  let refreshMs = Number.NEGATIVE_INFINITY
  let isRefusing = false
  /** Whether throughput has always grown with the limit so far, and what it was before. */
  let isStarting = true
  let lowerGoodput = 0
  /** The mean of the window before. */
  let lastMs = Number.POSITIVE_INFINITY

  function set(to: number): void {
    limit = Math.min(MOST_LIMIT, Math.max(LEAST_LIMIT, to))
  }

  /** Towards the limit at which responses take `wantedMs`. Returns whether that is far. */
  function approach(wantedMs: number, { meanMs }: Window): boolean {
    const ratio = Math.min(HEADROOM, Math.max(0.5, wantedMs / meanMs))
    // One that is far too low grows in whole steps, each of which has to show.
    const isFar = ratio > 1 + DEAD_BAND
    if (isFar) set(limit * ratio)
    else if (ratio > 1 || ratio < 1 - DEAD_BAND) set(limit * (1 + (ratio - 1) / 2))
    return isFar
  }

  /** The first limit is nobody's choice: it may be far too low for this server. */
  function double({ goodput }: Window): boolean {
    isStarting = goodput > FOLLOWS * lowerGoodput
    lowerGoodput = goodput
    set(isStarting ? limit * 2 : limit / 2)
    return true
  }

  function halve({ goodput, meanMs }: Window, startedMs: number): boolean {
    probe = { limit, goodput, meanMs, startedMs }
    set(limit / 2)
    return true
  }

  function probed(before: Probe, window: Window, nowMs: number): boolean {
    const { goodput, meanMs, left } = window
    // Where most clients leave, latencies are theirs.
    const isQueue = meanMs < SHORTER * before.meanMs || left > 0.5
    const stays = goodput >= FALLEN * before.goodput && isQueue
    // So is a server that works worse under load: it must not be loaded again and again.
    const isFaster = !isStarting && meanMs < FASTER * before.meanMs
    if (stays) isStarting = false
    if (stays && !isFaster && limit > LEAST_LIMIT) return halve(window, before.startedMs)
    quietMs = meanMs
    probe = undefined
    const tookMs = nowMs - before.startedMs
    refreshMs = nowMs + Math.max(REFRESH_MS, tookMs / PART_OF_PROBES)
    if (isFaster) {
      // What was seen before says nothing of it, so it starts anew.
      lowerGoodput = 0
      return double(window)
    }
    // Little's law, where the throughput before is limit / latency.
    set(before.limit * Math.min(1, (meanMs / before.meanMs) * HEADROOM))
    return true
  }

  function next(window: Window, nowMs: number): boolean {
    if (probe !== undefined) return probed(probe, window, nowMs)
    const { meanMs, refused } = window
    // One window is fast by chance, two are not.
    const isFast = quietMs !== undefined && Math.max(meanMs, lastMs) < FAST * quietMs
    lastMs = meanMs
    if (quietMs === undefined || isFast) quietMs = meanMs
    if (isFast) refreshMs = nowMs
    // A server that refuses nobody needs no other limit. One that begins to has to fill up first.
    const begins = refused > 0 && !isRefusing
    isRefusing = refused > 0
    if (refused === 0 || isFast || begins) return isFast || begins
    if (targetMs !== undefined) return approach(targetMs, window)
    if (meanMs > SLOW * quietMs || (refused > BURST && nowMs >= refreshMs))
      return halve(window, nowMs)
    if (isStarting && refused > CROWD) return double(window)
    return meanMs > FAST * quietMs && approach(quietMs * HEADROOM, window)
  }

  return {
    get limit() {
      return limit
    },
    get quietMs() {
      return quietMs
    },
    next,
  }
}
