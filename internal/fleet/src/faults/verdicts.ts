// Checks on the log of a run that many rows share.
import {
  type Check,
  countAtLeast,
  countAtMost,
  exactly,
  msAtMost,
  none,
  routine,
  shareAtMost,
} from './checks.js'
import type { Job, Sample, Stall } from './client/protocol.js'
import {
  admissions,
  allowance,
  flaps,
  inFlightAt,
  intervalsIn,
  type Loss,
  latencies,
  mostInAnyWindow,
  perWindow,
  quantile,
  shareOver,
  timeToNormal,
} from './figures.js'
import { LIMIT, type Run, WINDOW_MS } from './outage.js'
import type { Wire } from './stage.js'

/** An answer later than this is a hang, whatever the machine does. */
const HANG_MS = 1_000
/** ioredis 6 itself takes 2 s to give up a connection that does not end; version 5 and iovalkey
 *  take twice as long. */
const EXIT_MS = 5_000

/**
 * What holds in every row: no crash, no unhandled rejection, no error, no hang, and nothing left
 * behind.
 */
export function sane({ reports, samples }: Run): Check[] {
  const all = latenciesOf(reports)
  return [
    none(
      'crashes',
      reports.flatMap((report) => [...report.crashes, ...exits(report)]),
    ),
    none(
      'unhandled rejections',
      reports.flatMap(({ rejections }) => rejections),
    ),
    none(
      'errors',
      samples.flatMap(({ error }) => (error === undefined ? [] : [error])),
    ),
    none(
      'hangs',
      all.filter((ms) => ms > HANG_MS).map((ms) => `${Math.round(ms)} ms`),
    ),
    none(
      'left listeners',
      reports.flatMap(({ closing }) => closing?.leftListeners ?? []),
    ),
    routine(msAtMost('close()', worst(reports.map(({ closing }) => closing?.closeMs)), 1_000)),
    routine(msAtMost('exit', worst(reports.map(({ exitMs }) => exitMs)), EXIT_MS)),
  ]
}

function exits({ exitCode, exitSignal, lines, closing }: Run['reports'][number]): string[] {
  if (exitCode === 0) return []
  const last = lines.slice(-3).join(' / ')
  return [
    `ended with ${exitCode ?? exitSignal}; alive: ${closing?.resources.join(' ') ?? '?'}; ${last}`,
  ]
}

function worst(values: readonly (number | undefined)[]): number {
  return Math.max(...values.map((value) => value ?? Number.POSITIVE_INFINITY))
}

/** Latencies of all processes, each without the time in which its machine stood still. */
function latenciesOf(
  reports: readonly { samples: readonly Sample[]; stalls: readonly Stall[] }[],
): number[] {
  return reports.flatMap(({ samples, stalls }) => latencies(samples, stalls))
}

export function latency(run: Run, share: number, boundMs: number): Check {
  return msAtMost(`p${share * 100}`, quantile(latenciesOf(run.reports), share), boundMs)
}

/**
 * Half of the requests during the fault are faster than this: nobody waits for a store that is
 * known to be away.
 */
export function median({ reports, fault }: Run, boundMs: number): Check {
  const during = reports.map(({ samples, stalls }) => ({
    samples: samples.filter(({ at }) => at >= fault.from && at < fault.to),
    stalls,
  }))
  return msAtMost('p50', quantile(latenciesOf(during), 0.5), boundMs)
}

export function slowest(run: Run, boundMs: number): Check {
  return msAtMost('max', Math.max(...latenciesOf(run.reports)), boundMs)
}

export function slow(run: Run, overMs: number, bound: number): Check {
  return shareAtMost(`> ${overMs} ms`, shareOver(latenciesOf(run.reports), overMs), bound)
}

export function over(run: Run, bound: number): Check {
  return countAtMost('over', mostInAnyWindow(admissions(run.samples), WINDOW_MS), bound)
}

export function admitted(
  run: Run,
  limit: number = LIMIT,
  windowMs: number = WINDOW_MS,
  losses: readonly Loss[] = [],
): Check {
  const times = admissions(run.samples)
  const [first, ...sorted] = run.samples.map(({ at }) => at).sort((a, b) => a - b)
  const duration = (sorted.at(-1) ?? 0) - (first ?? 0)
  const inFlight = losses.reduce((sum, loss) => sum + inFlightAt(loss, run.samples), 0)
  return countAtMost('admitted', times.length, allowance(limit, windowMs, duration) + inFlight)
}

/** Whether the store decided, or a denial or lease that it has just given. */
export function isAsUsual({ degraded, error, ms }: Sample): boolean {
  return !degraded && error === undefined && ms < 250
}

/**
 * Decisions that were made because the store could not be asked. A machine that stalls also makes
 * the store late.
 */
export function degradedAtMost({ samples }: Run, bound: number, what = 'degraded'): Check {
  return countAtMost(what, samples.filter(({ degraded }) => degraded).length, bound)
}

/** Each window of the store except the last was used up, and none was exceeded. */
export function exactWindows({ samples }: Run, limit: number = LIMIT): Check[] {
  const counts = perWindow(samples)
  const whole = counts.slice(0, -1)
  return [
    exactly('least in a whole window', Math.min(...whole), limit),
    exactly('most in a window', Math.max(...counts), limit),
  ]
}

export function normalWithin({ samples, fault }: Run, boundMs: number): Check {
  return msAtMost('normal', timeToNormal(samples, fault.to, isAsUsual), boundMs)
}

/** The openings of the breaker after the first one, per second of the fault. */
export function flapping({ reports, fault }: Run, perSecond: number): Check {
  const most = Math.max(...reports.map(({ transitions }) => flaps(transitions)))
  return countAtMost('flaps', most, Math.ceil((perSecond * (fault.to - fault.from)) / 1_000))
}

/**
 * Decisions of users that were sent to Redis while the breaker was open. GLIDE keeps requests while
 * it has no connection, and sends them when it has one: requests in the deadline before the breaker
 * opened, by script hash and, to a new server, by source.
 */
export function sentWhileOpen(
  { reports, samples, calls, end }: Run,
  keys: readonly string[],
  { library }: Partial<Job>,
): Check {
  const decisions = calls.filter(
    (call) =>
      call.mode === 'consume' &&
      call.keys.some((key) => keys.some((user) => key.includes(`{${user}}`))),
  )
  const open = reports.flatMap(({ transitions }) => intervalsIn(transitions, ['open'], end))
  // Calls written before the opening may pass the proxy a little later.
  const late = decisions.filter(({ at }) => open.some(({ from, to }) => at > from + 50 && at < to))
  if (library === 'glide') {
    const isKept = ({ at, degraded }: Sample): boolean =>
      degraded && open.some(({ from }) => at > from - DEADLINE_MS && at < from)
    return countAtMost('sent while open', late.length, 2 * samples.filter(isKept).length)
  }
  return none(
    'sent while open',
    late.map(({ name, mode }) => `${name} ${mode}`),
  )
}

/** The default deadline of a store, and time to notice. */
const DEADLINE_MS = 150

/**
 * The client has reconnected. GLIDE cannot be told to: the operating system ends a connection that
 * has fallen silent.
 */
export function connectedAnew(wire: Wire, { library }: Partial<Job>): Check[] {
  return library === 'glide' ? [] : [countAtLeast('connections', wire.stats.connections, 2)]
}

/** The breaker opened. */
export function opened({ reports }: Run): Check {
  const processes = reports.filter(({ transitions }) =>
    transitions.some(({ state }) => state === 'open'),
  )
  return {
    ...countAtMost('opened', processes.length, reports.length),
    ok: processes.length === reports.length,
    bound: `${reports.length}`,
    routine: true,
  }
}
