// Reads what limiters and their stores have counted. Nothing here is called per decision, and an
// error in one of them keeps no other from being read. There is a series for everything that can
// happen with a limiter's store, and for everything that has happened.

import type { LimiterStats } from '@weir/core'
import type { LiveStatus } from '@weir/core/live'
import type { DecisionStats, StoreStats } from '@weir/core/store'
import { DEFINITIONS, type Name } from './definitions.js'
import { KnownNames } from './known-names.js'
import { type All, allOf, type Limiters, type WatchedLimiter } from './limiters.js'
import { type Metric, type Writer, written } from './metric.js'
import { atOnce, type Work } from './slices.js'

type Writers = Readonly<Record<Name, Writer>>

/** About how many points a limiter and each of its policies have. */
const POINTS_OF_LIMITER = 8
const POINTS_OF_POLICY = 7

/** States of a breaker. */
const STATES = ['closed', 'half-open', 'open']

/** How many could not be read so far. */
interface Failures {
  limiter: number
  store: number
  live: number
}

/**
 * A function that reads the metrics of limiters and of their stores, of overload protection and of
 * live policies, all at once: about 10 us for each limiter.
 * @experimental
 * @throws {TypeError} WEIR_INVALID_OPTION
 * @example const all = collector([limiter])()
 */
export function collector(limiters: Limiters): () => readonly Metric[] {
  const collect = collecting(limiters)
  return () => atOnce(collect())
}

/**
 * The same in steps of one limiter.
 * @throws {TypeError} WEIR_INVALID_OPTION
 */
export function collecting(limiters: Limiters): () => Work<readonly Metric[]> {
  const all = allOf(limiters)
  const failures: Failures = { limiter: 0, store: 0, live: 0 }
  const names = storeNames()
  const known = new KnownNames()

  return function* () {
    const entries = Object.entries(DEFINITIONS).map(
      ([name, definition]) => [name, written(definition)] as const,
    )
    const writers = Object.fromEntries(
      entries.map(([name, { writer }]) => [name, writer]),
    ) as Writers
    const stores = new Map<WatchedLimiter['store'], StoreStats | undefined>()
    const { limiters, guards, live } = allNow(all, failures)
    for (const limiter of limiters) {
      let policies = 0
      const isGood = isRead(() => {
        const { store } = limiter
        if (typeof store?.stats === 'function' && !stores.has(store))
          stores.set(store, readStore(store, failures))
        const hasServer = (stores.get(store)?.nodes.length ?? 0) > 0
        const stats = known.named(limiter.stats())
        writeLimiter(stats, hasServer, writers)
        policies = stats.policies.length
      })
      if (!isGood) failures.limiter += 1
      yield POINTS_OF_LIMITER + POINTS_OF_POLICY * policies
    }
    for (const [store, stats] of stores) {
      if (stats === undefined) continue
      if (!isRead(() => writeStore(names(store, stats.kind), stats, writers))) failures.store += 1
    }
    for (const { limit, inFlight, refused, priorities = [] } of guards) {
      writers.overloadLimit.add({}, limit)
      writers.overloadInFlight.add({}, inFlight)
      writers.overloadRefused.add({}, refused)
      for (const each of priorities) {
        const { priority } = each
        writers.overloadPriorities.add({ priority, outcome: 'admitted' }, each.admitted)
        writers.overloadPriorities.add({ priority, outcome: 'refused' }, each.refused)
      }
    }
    for (const each of live)
      if (!isRead(() => writeLive(checkedLive(each.status()), writers))) failures.live += 1
    for (const [source, count] of Object.entries(failures)) writers.failures.add({ source }, count)
    return entries.map(([, { metric }]) => metric)
  }
}

/** A store is read once for all its limiters. */
function readStore(store: WatchedLimiter['store'], failures: Failures): StoreStats | undefined {
  let stats: StoreStats | undefined
  const isGood = isRead(() => {
    stats = checkedStore(store.stats?.())
  })
  if (!isGood) failures.store += 1
  return stats
}

/** Calls a function of the user's, which may throw. */
function allNow(all: () => All, failures: Failures): All {
  try {
    return all()
  } catch {
    failures.limiter += 1
    return { limiters: [], guards: [], live: [] }
  }
}

function isRead(read: () => void): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

/** Names stores by their kind, with a number from the second of a kind on. */
function storeNames(): (store: object, kind: string) => string {
  const known = new WeakMap<object, string>()
  const counts = new Map<string, number>()
  return (store, kind) => {
    const name = known.get(store)
    if (name !== undefined) return name
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    const made = count === 1 ? kind : count > MAX_STORES ? `${kind}-other` : `${kind}-${count}`
    known.set(store, made)
    return made
  }
}

/** How many stores of a kind are told apart. */
const MAX_STORES = 50

/** Writes a limiter's points. `hasServer`: its store asks a server, so some decisions may be made
 *  without it. */
function writeLimiter(stats: LimiterStats, hasServer: boolean, to: Writers): void {
  const { limiter, enabled, shadow, decisions, priorities, policies } = stats
  const { undecided, waiting, waits } = stats
  for (const { outcome, source, degraded, count } of decisions) {
    if (count === 0 && !isExpected(outcome, source, hasServer)) continue
    to.decisions.add({ limiter, outcome, source, degraded: String(degraded) }, count)
  }
  for (const { priority, outcome, count } of priorities)
    to.priorities.add({ limiter, priority, outcome }, count)
  for (const each of policies) {
    const { policy, algorithm, limit, factor, windowMs, denials, nearLimit, units } = each
    const { blocks, slots, crossings } = each
    const of = { limiter, policy }
    for (const [reason, count] of Object.entries(denials))
      if (count > 0 || reason === 'limit')
        to.denials.add({ ...of, reason, enforced: String(!shadow) }, count)
    for (const [kind, count] of Object.entries(units))
      if (count > 0 || kind === 'taken' || kind === 'denied') to.units.add({ ...of, kind }, count)
    for (const { share, count } of crossings)
      to.crossings.add({ ...of, share: String(share) }, count)
    blocks.forEach((count, i) => {
      // A lock-out's first level is shown before it happens.
      if (count > 0 || i === 0) to.blocks.add({ ...of, level: String(i + 1) }, count)
    })
    if (slots !== undefined) {
      to.slotsHeld.add(of, slots.held)
      to.slotsExpired.add(of, slots.expired)
    }
    to.nearLimit.add(of, nearLimit)
    if (limit === undefined) continue
    to.limit.add(of, limit)
    if (factor !== undefined) to.factor.add(of, factor)
    to.info.add({ ...of, algorithm: String(algorithm), window_ms: String(windowMs) }, 1)
  }
  to.enabled.add({ limiter }, enabled ? 1 : 0)
  to.shadow.add({ limiter }, shadow ? 1 : 0)
  for (const [reason, count] of Object.entries(undecided))
    if (count > 0)
      to.undecided.add({ limiter, reason: REASONS[reason as keyof typeof undecided] }, count)
  // Under most limiters nobody waits.
  if (waiting === 0 && waits.counts.every((count) => count === 0)) return
  to.waiting.add({ limiter }, waiting)
  to.waits.histogram({ limiter }, waits)
}

/** Whether a series is shown before anything has happened, so that its first increase is seen. */
function isExpected(
  outcome: DecisionStats['outcome'],
  source: DecisionStats['source'],
  hasServer: boolean,
): boolean {
  if (source === 'store') return true
  return hasServer && (source === 'local' || source === 'cache' || outcome === 'error')
}

const REASONS = {
  skip: 'skip',
  allowList: 'allow_list',
  denyList: 'deny_list',
  preflight: 'preflight',
  noKey: 'no_key',
} as const satisfies Record<keyof LimiterStats['undecided'], string>

function writeStore(store: string, stats: StoreStats, to: Writers): void {
  const { nodes, instances, unreconciled, events, memory } = stats
  for (const { node, state, inFlight, calls, durations } of nodes) {
    const of = { store, node }
    const { ok, timeout, error, notSent } = calls
    for (const [result, count] of Object.entries({ ok, timeout, error, not_sent: notSent }))
      to.calls.add({ ...of, result }, count)
    for (const each of STATES) to.breaker.add({ ...of, state: each }, each === state ? 1 : 0)
    to.inFlight.add(of, inFlight)
    to.durations.histogram(of, durations)
  }
  for (const [event, count] of Object.entries(events)) to.events.add({ store, event }, count)
  if (nodes.length > 0) {
    to.instances.add({ store }, instances)
    to.unreconciled.add({ store }, unreconciled)
  }
  if (memory === undefined) return
  to.keys.add({ store }, memory.keys)
  to.size.add({ store }, memory.bytes)
  to.evictions.add({ store }, memory.evictions)
}

function writeLive({ name, version, refused, isCurrent }: LiveStatus, to: Writers): void {
  const of = { settings: name }
  to.liveVersion.add(of, version)
  to.liveCurrent.add(of, isCurrent ? 1 : 0)
  to.liveRefused.add(of, refused)
}

function checkedLive(given: LiveStatus): LiveStatus {
  const { name, version, refused } = given
  if (typeof name === 'string' && typeof version === 'number' && typeof refused === 'number')
    return given
  throw new TypeError('status() of live policies gave something else')
}

/** The store may be anybody's: nothing is written for one that reports nonsense. */
function checkedStore(given: unknown): StoreStats {
  // Stats are read at once or not at all; nobody handles a later rejection.
  if (given instanceof Promise) given.catch(() => {})
  const { kind, nodes, instances, unreconciled, events, memory } = (given ??
    {}) as Partial<StoreStats>
  const areNumbers = (values: unknown): boolean =>
    typeof values === 'object' &&
    values !== null &&
    Object.values(values).every((each) => typeof each === 'number')
  const areNodes =
    Array.isArray(nodes) &&
    nodes.every(({ node, calls, durations, inFlight }) => {
      const { bounds, counts, sum } = durations
      const isWhole = bounds.length + 1 === counts.length && areNumbers([...bounds, ...counts, sum])
      return typeof node === 'string' && areNumbers(calls) && areNumbers({ inFlight }) && isWhole
    })
  const isGood =
    typeof kind === 'string' &&
    areNodes &&
    areNumbers({ instances, unreconciled }) &&
    areNumbers(events) &&
    (memory === undefined || areNumbers(memory))
  if (!isGood) throw new TypeError('stats() of a store gave something else')
  return given as StoreStats
}
