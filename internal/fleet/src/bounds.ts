// What may pass beyond a limit, as formulas: the bounds of docs/resilience.md, "What may be lost".
// Each is a function of what happened. The simulation checks them after every decision.

/** What happened to one key, within one window. */
export interface Story {
  /** L. */
  readonly limit: number
  /** q of each process that decided without Redis; of those that did not, 0. */
  readonly quotas: readonly number[]
  /** t of each process: units that were taken before it lost Redis, and that it had not seen.
   *  Undefined: it did not decide without Redis. */
  readonly unseen: readonly (number | undefined)[]
  /** Requests in flight when Redis was lost. */
  readonly inFlight: number
  /** Requests in flight when a loss showed, at the most. */
  readonly inFlightAtLoss: number
  /** Of each time that Redis forgot the key: the units that the first process to ask had not seen;
   *  undefined: it had never seen the key. */
  readonly losses: readonly (number | undefined)[]
}

/** Redis is well, or slow, or has forgotten its scripts: the limit is exact. */
export function whenWell({ limit }: Story): number {
  return limit
}

/** All processes lose Redis, notice it and come back within 5 s of each other: L + the requests in
 *  flight + t / n for each process, rounded up, of what it has not seen. 100 + 3 = 103. */
export function whenAllAreAway({ limit, unseen, inFlight, quotas }: Story): number {
  const n = quotas.length
  const extra = unseen.map((units, i) =>
    units === undefined ? 0 : Math.min(quotas[i] as number, Math.ceil(units / n)),
  )
  return limit + inFlight + sum(extra)
}

/** Some processes cannot reach Redis: L + the q of each of them. 100 + 25 = 125. */
export function whenSomeAreAway({ limit, quotas, unseen }: Story): number {
  return limit + sum(quotas.filter((_, i) => unseen[i] !== undefined))
}

/** Redis forgets a key: for each loss the requests in flight when it shows, and what the first
 *  process to ask had not seen, which is all if it had never seen the key.
 *  100 + (5 + 0) + (5 + 20) = 130. */
export function whenKeysAreLost({ limit, losses, inFlightAtLoss }: Story): number {
  return limit + sum(losses.map((unseen = limit) => Math.min(limit, unseen + inFlightAtLoss)))
}

/** Where several happen, what each adds beyond the limit adds up. */
export function whenBoth(
  one: (story: Story) => number,
  other: (story: Story) => number,
): (story: Story) => number {
  return (story) => one(story) + other(story) - story.limit
}

function sum(units: readonly number[]): number {
  return units.reduce((total, each) => total + each, 0)
}
