// Leases: units of a hot key that are taken ahead in one call, and handed out here without asking Redis for each.
//
// Redis counts a unit when it is taken; it may be spent up to `holdMs` later. So that windows stay strict, a lease that ends
// tells Redis when its units were spent (settle), and then gives back what was taken (refund): in between Redis counts more
// than was used, never less. What it costs is under-use: of each key up to `units`, and a tenth of the smallest limit, in
// each process, for up to `holdMs`. A sliding log or window gives units back from its oldest end, so that each of them
// is as if it had been spent later; a lease is at most a quarter more than was spent of the one before, so few go back.
//
// Buckets are not leased. What lies in one drains while units are held, and if others give back what is beneath them, the
// bucket would have been empty for a while when they are spent: more would pass than its bound says.

import type { Reading } from '../algorithms/driver.js'
import { Recent } from '../base/cache.js'
import { rewind } from '../redis/transport/batching.js'
import { areOne } from '../redis/transport/script-call.js'
import { resultOf, type StoreRequest, type StoreResult } from '../store.js'
import { type Deadlines, deadlines, type Timed } from './resilience/deadlines.js'

export interface LeaseOptions {
  /** The most units taken ahead at once. 2 to 10,000. */
  readonly units: number
  /** How long they may be kept. 1 to 1,000. */
  readonly holdMs: number
}

/** A key is hot when it was asked for as often within `holdMs`. */
const HOT = 16
const MAX_KEYS = 10_000
/** The part of a limit that may be taken ahead. */
const SHARE = 0.1
const LEAST_US = 1_000
/** How a lease compares with what was spent of the one before. */
const GROWTH = 1.25

interface Demand {
  sinceMs: number
  count: number
  /** A call that takes units ahead is on its way since then. */
  askedMs: number | undefined
  /** The most that the next lease may be. */
  most: number
}

interface Lease extends Timed {
  readonly group: StoreRequest
  /** As they are when all units are spent. */
  readonly readings: readonly Reading[]
  readonly scratch: readonly Reading[]
  readonly takenUs: number
  readonly askedMs: number
  readonly lastsUs: number
  readonly units: number
  left: number
  /** When the last unit was spent, from when they were taken. */
  spentAfterUs: number
  done: boolean
}

export class Leases {
  readonly #options: LeaseOptions
  readonly #clockUs: () => number | undefined
  readonly #send: (group: StoreRequest) => void
  readonly #deadlines: Deadlines
  readonly #leases: Map<string, Lease> = new Map()
  readonly #demands: Recent<Demand> = new Recent(MAX_KEYS)

  /**
   * @param clockUs the store's time, where it is injected
   * @param send asks Redis, and nobody waits for the answer
   */
  constructor(
    options: LeaseOptions,
    clockUs: () => number | undefined,
    send: (group: StoreRequest) => void,
  ) {
    this.#options = options
    this.#clockUs = clockUs
    this.#send = send
    this.#deadlines = deadlines(options.holdMs)
  }

  /** The answer to a request, out of a lease; undefined: there is none. Anything but a plain consume ends the lease, so that
   *  Redis knows all when it is asked. */
  answer(id: string, group: StoreRequest): StoreResult | undefined {
    const lease = this.#leases.get(id)
    if (lease === undefined) return undefined
    const afterUs = this.#sinceUs(lease)
    const isOver = afterUs < lease.spentAfterUs || afterUs >= lease.lastsUs
    if (
      isOver ||
      group.mode !== 'consume' ||
      group.policySet !== lease.group.policySet ||
      !areOne(group.costs)
    ) {
      this.end(id)
      return undefined
    }
    lease.left -= 1
    lease.spentAfterUs = afterUs
    rewind(group, lease.readings, lease.left, lease.scratch)
    const answer = resultOf(group, true, lease.takenUs + afterUs, lease.scratch)
    if (lease.left === 0) this.end(id)
    return { ...answer, source: 'local' }
  }

  /** How many units to take ahead with a request that goes to Redis. */
  wanted(id: string, group: StoreRequest): number {
    if (group.mode !== 'consume' || group.ownKeys !== undefined || !areOne(group.costs)) return 0
    const clockUs = this.#clockUs()
    const nowMs = clockUs === undefined ? performance.now() : clockUs / 1_000
    let demand = this.#demands.get(id)
    if (demand === undefined) {
      demand = { sinceMs: nowMs, count: 0, askedMs: undefined, most: HOT }
      this.#demands.set(id, demand)
    }
    if (nowMs - demand.sinceMs > this.#options.holdMs) {
      demand.sinceMs = nowMs
      demand.count = 0
    }
    demand.count += 1
    if (demand.count < HOT || demand.askedMs !== undefined) return 0
    const units = Math.min(this.#options.units, demand.count, demand.most, this.#mostOf(group))
    if (units < 2) return 0
    demand.askedMs = nowMs
    return units
  }

  /** Redis has granted so many units, beside those for which somebody waited. */
  granted(
    id: string,
    group: StoreRequest,
    units: number,
    readings: readonly Reading[],
    nowUs: number,
  ): void {
    const demand = this.#demands.get(id)
    // Without it the call had failed, and this answer is late: what it granted goes back.
    const askedMs = demand?.askedMs
    if (demand !== undefined) demand.askedMs = undefined
    if (units === 0) return
    this.end(id)
    const lastsUs =
      askedMs === undefined
        ? 0
        : Math.min(this.#options.holdMs * 1_000, ...readings.map(({ resetUs }) => resetUs))
    const lease: Lease = {
      group,
      readings: readings.map((each) => ({ ...each })),
      scratch: readings.map((each) => ({ ...each })),
      takenUs: nowUs,
      askedMs: askedMs ?? 0,
      lastsUs,
      units,
      left: units,
      spentAfterUs: 0,
      startedMs: performance.now(),
      done: false,
      expire: () => this.end(id),
    }
    this.#leases.set(id, lease)
    if (lastsUs >= LEAST_US) this.#deadlines.add(lease)
    else this.end(id)
  }

  /** The call that was to take units ahead has failed. */
  failed(id: string): void {
    const demand = this.#demands.get(id)
    if (demand !== undefined) demand.askedMs = undefined
  }

  /** Gives back what is left, and tells when the rest was spent. */
  end(id: string): void {
    const lease = this.#leases.get(id)
    if (lease === undefined) return
    this.#leases.delete(id)
    lease.done = true
    const { group, readings, takenUs, units, left, spentAfterUs } = lease
    const demand = this.#demands.get(id)
    if (demand !== undefined) demand.most = Math.max(2, Math.ceil((units - left) * GROWTH))
    const { policySet, key } = group
    const each = (count: number) => policySet.policies.map(() => count)
    const untilUs = readings.map(({ resetUs }) => takenUs + resetUs)
    const spentLater = spentAfterUs >= LEAST_US && left < units
    if (spentLater) {
      const laterUs = untilUs.map((until) => until + Math.ceil(spentAfterUs))
      this.#send({ policySet, key, mode: 'reconcile', costs: each(units - left), untilUs: laterUs })
    }
    const back = spentLater ? units : left
    // A reset ends a lease beforehand: what is taken in its instant is taken after it.
    const seenUs = takenUs + 1
    if (back > 0) this.#send({ policySet, key, mode: 'refund', costs: each(back), untilUs, seenUs })
  }

  close(): void {
    for (const id of [...this.#leases.keys()]) this.end(id)
    this.#deadlines.close()
  }

  /** Counted from when the units were asked for, so never too little: Redis took them later than that. */
  #sinceUs({ takenUs, askedMs }: Lease): number {
    const clockUs = this.#clockUs()
    return clockUs === undefined
      ? Math.ceil((performance.now() - askedMs) * 1_000)
      : clockUs - takenUs
  }

  #mostOf({ policySet }: StoreRequest): number {
    let most = Number.POSITIVE_INFINITY
    for (const { limit, windowMs, kernel } of policySet.policies) {
      if (kernel?.traits.drains || windowMs < 2 * this.#options.holdMs) return 0
      most = Math.min(most, Math.floor(limit * SHARE))
    }
    return most
  }
}
