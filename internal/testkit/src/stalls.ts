// Verdicts about real time. Nobody can say that an answer was late on a machine that gave the
// process no CPU, so an attempt during which that happened is made again.

const TURN_MS = 5
/** Timers may be late by a few ms on any machine. */
const LATE_MS = 10
/** A machine that stalled for longer than this, or for a larger share of the time, is too busy. */
const LONGEST_MS = 40
const SHARE = 0.05
const ATTEMPTS = 5

/** The event loop was late: a turn was due at `atMs`, and came `ms` later. */
export interface Stall {
  readonly atMs: number
  /** Without the CPU time that the process used itself: a slow product is not a busy machine. */
  readonly ms: number
}

export interface StallWatch {
  /** Ends the watch. Returns all stalls so far. */
  stop(): readonly Stall[]
}

/**
 * Watches for times at which this process was due to run and the machine did not let it. Threads
 * that compute beside this one hide such times: a file that judges time has a process to itself.
 */
export function watchStalls(): StallWatch {
  const stalls: Stall[] = []
  let expectedMs = performance.now() + TURN_MS
  let usedMs = cpuMs()
  const turn = (): void => {
    const ownMs = cpuMs() - usedMs
    const ms = performance.now() - expectedMs - ownMs
    if (ms > LATE_MS) stalls.push({ atMs: expectedMs, ms })
    expectedMs = performance.now() + TURN_MS
    usedMs += ownMs
  }
  const timer = setInterval(turn, TURN_MS)
  return {
    stop() {
      // A stall that lasts until now.
      turn()
      clearInterval(timer)
      return stalls
    },
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

export interface JudgedOptions {
  /** The longest stall that the promise has room for. Default: 40 ms. */
  readonly longestMs?: number
  /** How to watch; for the tests of this function. */
  readonly watch?: () => StallWatch
}

/**
 * For a test that judges real time. Makes an attempt, which throws where a promise is broken. If
 * the machine stalled meanwhile, that was no verdict, and the attempt is made again, from the
 * start: at most five times.
 * @throws {Error} what the attempt threw on a machine that let it run; or that there is no verdict
 */
export async function judged<Value>(
  attempt: () => Promise<Value>,
  { longestMs = LONGEST_MS, watch = watchStalls }: JudgedOptions = {},
): Promise<Value> {
  const stalled: string[] = []
  let cause: unknown
  while (stalled.length < ATTEMPTS) {
    const beganMs = performance.now()
    const watched = watch()
    const outcome = await attempt().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    const stalls = watched.stop()
    if ('value' in outcome) return outcome.value
    const stalledMs = stalls.map(({ ms }) => ms)
    const busy = busyBy(stalledMs, performance.now() - beganMs, longestMs)
    if (busy === undefined) throw outcome.error
    stalled.push(busy)
    cause = outcome.error
  }
  throw new Error(`no verdict, since the machine stalled each time: ${stalled.join('; ')}`, {
    cause,
  })
}

/** How busy a machine was that stalled for these times; undefined if it let a process run. */
export function busyBy(
  stalledMs: readonly number[],
  durationMs: number,
  longestMs: number = LONGEST_MS,
): string | undefined {
  const longest = Math.max(0, ...stalledMs)
  const share = stalledMs.reduce((sum, ms) => sum + ms, 0) / durationMs
  if (longest <= longestMs && share <= SHARE) return undefined
  return `for up to ${Math.round(longest)} ms, ${Math.round(share * 100)} % of the time`
}
