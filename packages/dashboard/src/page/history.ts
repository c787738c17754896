// What the page remembers of earlier frames. Rates are differences of totals between two frames.

import type { Past, StoreFrame, Totals } from '../protocol.js'
import { OUTCOMES, SHORTEST_MS } from '../totals.js'

/** How far back a chart goes: five minutes. */
export const KEPT_MS = 300_000
const GAP_MS = 5_000
const RECENT_MS = 60_000

export function sumOf(totals: Totals): number {
  return OUTCOMES.reduce((sum, outcome) => sum + totals[outcome], 0)
}

/** A point of a chart; rates are per second, and null where nothing is known. */
export interface Point {
  readonly atMs: number
  readonly rates: Totals | null
}

/** A limiter's rates. */
export class Rates {
  /** The oldest first. */
  readonly points: Point[] = []
  readonly #totals: { readonly atMs: number; readonly totals: Totals; degraded: number }[] = []

  /** Takes a frame's totals, unless another's came just before. After a break, or if the counters
   *  began anew, the chart's line is broken, because an average over the break would mean
   *  nothing. */
  push(atMs: number, totals: Totals, degraded = 0): void {
    const last = this.#totals.at(-1)
    if (last !== undefined && atMs - last.atMs < SHORTEST_MS) {
      if (atMs > last.atMs - GAP_MS) return
      this.clear()
    } else if (last !== undefined) {
      const isBroken = atMs - last.atMs > GAP_MS || isBehind(totals, last.totals)
      if (isBehind(totals, last.totals)) this.#totals.length = 0
      const seconds = (atMs - last.atMs) / 1_000
      const rates = isBroken ? null : mapped((of) => (totals[of] - last.totals[of]) / seconds)
      this.points.push({ atMs, rates })
    }
    this.#totals.push({ atMs, totals, degraded })
    while ((this.points[0]?.atMs ?? atMs) < atMs - KEPT_MS) this.points.shift()
    while ((this.#totals[0]?.atMs ?? atMs) < atMs - RECENT_MS) this.#totals.shift()
  }

  clear(): void {
    this.points.length = 0
    this.#totals.length = 0
  }

  /** The rates of the last second. */
  now(): Totals | undefined {
    return this.points.at(-1)?.rates ?? undefined
  }

  /** The decisions of the last minute, or since `sinceMs`. */
  recent(): Totals {
    const first = this.#totals[0]?.totals
    const last = this.#totals.at(-1)?.totals
    return mapped((of) => (last?.[of] ?? 0) - (first?.[of] ?? 0))
  }

  /** The degraded ones of these. */
  recentDegraded(): number {
    return (this.#totals.at(-1)?.degraded ?? 0) - (this.#totals[0]?.degraded ?? 0)
  }
}

function mapped(value: (outcome: keyof Totals) => number): Totals {
  const [allowed, shadow_denied, denied, error] = OUTCOMES.map(value) as [
    number,
    number,
    number,
    number,
  ]
  return { allowed, shadow_denied, denied, error }
}

function isBehind(totals: Totals, last: Totals): boolean {
  return OUTCOMES.some((outcome) => totals[outcome] < last[outcome])
}

type Node = StoreFrame['nodes'][number]

/** How long calls to a node took in the last minute. */
export class Durations {
  readonly #seen: { readonly atMs: number; readonly node: Node }[] = []
  #isFirst = true

  push(atMs: number, node: Node): void {
    const last = this.#seen.at(-1)
    if (last !== undefined && (atMs < last.atMs || callsOf(node) < callsOf(last.node))) this.clear()
    this.#isFirst = this.#seen.length === 0 && this.#isFirst
    this.#seen.push({ atMs, node })
    while ((this.#seen[0]?.atMs ?? atMs) < atMs - RECENT_MS) this.#seen.shift()
  }

  clear(): void {
    this.#seen.length = 0
    this.#isFirst = true
  }

  /** The calls of the last minute with a result. */
  recent(result: keyof Node['calls']): number {
    const first = this.#seen[0]?.node.calls[result] ?? 0
    return (this.#seen.at(-1)?.node.calls[result] ?? 0) - first
  }

  /** The time, in seconds, that this fraction of the calls did not exceed. Infinity: above the last
   *  bound; undefined: there were no calls. */
  quantile(fraction: number): number | undefined {
    const last = this.#seen.at(-1)?.node.durations
    if (last === undefined) return undefined
    const first = this.#seen[0]?.node.durations.counts ?? []
    // A page that was just opened knows only the totals since the store was made.
    const counts = last.counts.map((each, i) => each - (this.#isFirst ? 0 : (first[i] ?? 0)))
    const all = counts.reduce((sum, each) => sum + each, 0)
    if (all === 0) return undefined
    let below = 0
    const at = counts.findIndex((each) => {
      below += each
      return below >= fraction * all
    })
    return last.bounds[at] ?? Number.POSITIVE_INFINITY
  }
}

function callsOf(node: Node): number {
  return node.calls.ok + node.calls.timeout + node.calls.error + node.calls.notSent
}

/** Things of one kind, by name, each made when it is first asked for. */
function kept<T>(make: () => T): (id: string) => T {
  const all = new Map<string, T>()
  return (id) => {
    const one = all.get(id) ?? make()
    all.set(id, one)
    return one
  }
}

/** All that is remembered of one process. */
export class History {
  readonly ratesOf: (limiter: string) => Rates = kept(() => new Rates())
  readonly durationsOf: (store: string, node: string) => Durations
  readonly #guards = kept(() => new Rates())
  #times: number[] = []

  constructor() {
    const durations = kept(() => new Durations())
    this.durationsOf = (store, node) => durations(`${store} ${node}`)
  }

  push({ atMs, limiters, stores, guards }: Past): void {
    for (const { id, totals, degraded } of limiters) this.ratesOf(id).push(atMs, totals, degraded)
    for (const { id, nodes } of stores)
      for (const node of nodes) this.durationsOf(id, node.node).push(atMs, node)
    for (const { id, refused } of guards)
      this.#guards(id).push(atMs, { allowed: 0, shadow_denied: 0, denied: refused, error: 0 })
    this.#times = [...this.#times.filter((each) => each >= atMs - RECENT_MS), atMs]
  }

  /** How many requests overload protection refused in the last minute. */
  refusedBy(guard: string): number {
    return this.#guards(guard).recent().denied
  }

  /** When the last minute began, or, if that is later, when frames began to come. */
  get recentMs(): number | undefined {
    return this.#times[0]
  }
}
