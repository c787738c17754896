// What algorithms mean, expressed differently than in the kernels: each charge is stored separately
// for as long as it counts, and waits are found by looking ahead. Times are whole ms.

export interface Charge {
  /** When it was charged, and until when it counts if nothing else happens. */
  readonly atMs: number
  untilMs: number
  units: number
}

export interface Ledger {
  /** Units in use at an instant, from the last change on. */
  used(nowMs: number): number
  take(units: number, nowMs: number): Charge
  /** Gives back units of a charge, as far as they still count. */
  giveBack(charge: Charge, units: number, nowMs: number): void
  /** Gives up a turn that has not come; undefined if turns are not reserved. */
  readonly leave: ((charge: Charge, nowMs: number) => void) | undefined
}

/** The shortest wait, up to a given one, after which a condition holds; it holds from then on. */
export function leastMs(mostMs: number, holds: (waitMs: number) => boolean): number {
  let [low, high] = [0, mostMs]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** A window that begins with the first charge, and is over when nothing in it counts. */
export function fixedWindowLedger(spanMs: number): Ledger {
  let charges: Charge[] = []
  const used = (nowMs: number) => sumOf(charges.filter(({ untilMs }) => untilMs > nowMs))
  return {
    used,
    take(units, nowMs) {
      if (used(nowMs) === 0) charges = []
      const untilMs = charges[0]?.untilMs ?? nowMs + spanMs
      const charge = { atMs: nowMs, untilMs, units }
      charges.push(charge)
      return charge
    },
    giveBack(charge, units) {
      charge.units -= units
    },
    leave: undefined,
  }
}

/** Each unit counts for a window. Refunds give back the oldest units that count. */
export function slidingLogLedger(spanMs: number): Ledger {
  let times: number[] = []
  const used = (nowMs: number) => times.filter((atMs) => atMs + spanMs > nowMs).length
  return {
    used,
    take(units, nowMs) {
      for (let i = 0; i < units; i += 1) times.push(nowMs)
      return { atMs: nowMs, untilMs: nowMs + spanMs, units }
    },
    giveBack({ untilMs }, units, nowMs) {
      if (untilMs <= nowMs) return
      times = times.filter((atMs) => atMs + spanMs > nowMs).slice(units)
    },
    leave: undefined,
  }
}

/** Windows on the grid of the epoch: the last one counts by the part of it that is near. */
export function slidingCounterLedger(spanMs: number): Ledger {
  const charges: Charge[] = []
  const windowOf = (ms: number) => Math.floor(ms / spanMs)
  return {
    used(nowMs) {
      const now = windowOf(nowMs)
      const of = (window: number) => sumOf(charges.filter(({ atMs }) => windowOf(atMs) === window))
      const covered = spanMs - (nowMs % spanMs)
      return of(now) + Math.ceil((of(now - 1) * covered) / spanMs)
    },
    take(units, nowMs) {
      const charge = { atMs: nowMs, untilMs: (windowOf(nowMs) + 2) * spanMs, units }
      charges.push(charge)
      return charge
    },
    giveBack(charge, units) {
      charge.units -= units
    },
    leave: undefined,
  }
}

/** A level that falls by a unit in `unitMs`, with charges stacked in it. */
export function bucketLedger(capacity: number, unitMs: number, maxWaitMs: number): Ledger {
  let levelMs = 0
  let sinceMs = 0
  let gaveMs = Number.NEGATIVE_INFINITY
  const levelAt = (nowMs: number) => Math.max(0, levelMs - (nowMs - sinceMs))
  const set = (toMs: number, nowMs: number) => {
    levelMs = toMs
    sinceMs = nowMs
  }
  const lower = (byMs: number, nowMs: number) => {
    if (byMs <= 0) return
    set(Math.max(0, levelAt(nowMs) - byMs), nowMs)
    gaveMs = nowMs
  }
  return {
    used: (nowMs) => Math.ceil(levelAt(nowMs) / unitMs),
    take(units, nowMs) {
      const before = levelAt(nowMs)
      const furthest = Math.max(before, capacity * unitMs + maxWaitMs)
      set(Math.min(before + units * unitMs, furthest), nowMs)
      return { atMs: nowMs, untilMs: nowMs + levelMs, units }
    },
    giveBack({ atMs, untilMs }, units, nowMs) {
      const level = levelAt(nowMs)
      const counts = Math.min(untilMs - nowMs, level)
      // After a refund, it is unknown how much of an earlier charge has drained since.
      const drained = gaveMs >= atMs ? nowMs - atMs : 0
      lower(Math.min(units * unitMs - drained, counts), nowMs)
    },
    leave({ untilMs, units }, nowMs) {
      const level = levelAt(nowMs)
      const isLast = untilMs >= nowMs + level
      if (isLast && level > 0 && untilMs > nowMs) lower(units * unitMs, nowMs)
    },
  }
}

function sumOf(charges: readonly Charge[]): number {
  return charges.reduce((sum, { units }) => sum + units, 0)
}
