// What happened to one key in a story, and the most that may be admitted under it. The formulas are
// those of docs/resilience.md, "What may be lost"; the simulation checks them after each decision.

import {
  laggingReplica,
  localQuotas,
  lossSeenByOtherFirst,
  lossSeenFirst,
  lostReply,
  ownPolicyInOutage,
  partialOutage,
  returnOfProcesses,
  staleView,
  unknownInstances,
  wholeOutage,
} from './bounds.js'

export interface Story {
  readonly limit: number
  /** For each process, the units that were taken before it lost Redis and that it had not seen.
   *  Undefined if it has not lost Redis. */
  readonly unseen: readonly (number | undefined)[]
  /** For each process, the units that were left when it lost Redis, as far as it had seen. */
  readonly left: readonly (number | undefined)[]
  /** How many processes started while Redis was away. */
  readonly started: number
  /** For each process, whether its breaker has opened, or it has not lost Redis. */
  readonly noticed: readonly boolean[]
  /** The key is decided together with keys on another node, which is lost: since all share one
   *  deadline, no time may be left to ask the healthy node of this key. */
  readonly isBeside: boolean
  /** The requests in flight when processes lost Redis. */
  readonly inFlight: number
  /** The most units of requests in flight at any moment, such as when a loss of the key showed, or
   *  a breaker opened. */
  readonly mostInFlight: number
  /** For each time that Redis forgot the key, the units that the first process to ask had not
   *  seen. */
  readonly losses: readonly number[]
  /** The units that a replica had not received when it took over. */
  readonly behind: number
  /** Whether each process was told its rank; otherwise nobody knows which ones have the
   *  remainders. */
  readonly areRanked: boolean
  /** Whether a lost key may not be restored, since units were given back or nobody remembers it. */
  readonly mayNotRestore: boolean
  /** Whether the limit has changed. What was seen under a smaller limit does not show by how much
   *  that was exceeded. */
  readonly isChanged: boolean
  /** The limit of the policy for outages; 0: there is none. */
  readonly ownLimit: number
}

/** The most that may be admitted under a key. */
export type Bound = (story: Story) => number

/** Redis answers in time. */
export const whenWell: Bound = ({ limit }) => limit

/**
 * All processes lose Redis, and come back within 5 s of each other. A process that does not notice
 * has no ceiling afterwards, nor has one with a quota of 0. Of keys that are lost only beside
 * others, single requests fail.
 */
export const whenAllAreAway: Bound = (story) => {
  const { limit, unseen, noticed, inFlight, areRanked } = story
  if (story.isBeside) return whenSomeAreAway(story)
  const most = staleView(
    wholeOutage(limit, inFlight),
    unseen.map((units = 0) => units),
  )
  const quotas = localQuotas(limit, unseen.length)
  const isFree = noticed.map((has, i) => !has || quotas[i] === 0)
  if (!isFree.includes(true)) return most
  // Of the processes without a ceiling, the last one has the smallest quota.
  const back = areRanked ? isFree.lastIndexOf(true) : quotas.length - 1
  const others = quotas.filter((_, i) => i !== back)
  return Math.max(most, returnOfProcesses(limit, others))
}

/** A master that processes knew before takes over keys that they have lost. The first process that
 *  is back has no ceiling; at worst, it is the one with the smallest quota. */
export const whenBackWithoutCeiling: Bound = ({ limit, unseen }) => {
  if (unseen.every((units) => units === undefined)) return limit
  return returnOfProcesses(limit, localQuotas(limit, unseen.length).slice(0, -1))
}

/** A process that is the only one loses Redis, now and then. */
export const whenOneIsAway: Bound = ({ limit, mostInFlight, isChanged, unseen }) => {
  const most = wholeOutage(limit, mostInFlight)
  return isChanged ? staleView(most, [unseen[0] ?? 0]) : most
}

/** All processes lose Redis, and each decides by the policy for outages. */
export const whenEachIsAlone: Bound = ({ limit, unseen, ownLimit }) =>
  limit + ownPolicyInOutage(ownLimit, unseen.length)

/** Some processes cannot reach Redis, and the others can. */
export const whenSomeAreAway: Bound = ({ limit, unseen, areRanked }) => {
  const quotas = localQuotas(limit, unseen.length)
  const isAway = (_: unknown, i: number): boolean => unseen[i] !== undefined
  if (areRanked) return partialOutage(limit, quotas.filter(isAway))
  // The processes with the largest quotas come first.
  return partialOutage(limit, quotas.slice(0, unseen.filter(isAway).length))
}

/** Some processes get no replies for a while from Redis, which runs their calls. In addition to the
 *  others, each admits its part of what it took to be left. */
export const whenRepliesAreLost: Bound = ({ limit, left }) =>
  partialOutage(
    lostReply(limit),
    left.map((units = 0) => Math.ceil(units / left.length)),
  )

/** All processes lose Redis, and others start, which assume that they are alone, so they have no
 *  ceiling when they reach it. */
export const whenProcessesStart: Bound = ({ limit, unseen, started }) =>
  returnOfProcesses(unknownInstances(limit, started), localQuotas(limit, unseen.length))

/** Redis forgets the key, once or more often. After a refund it is not restored. */
export const whenKeysAreLost: Bound = ({ limit, losses, mostInFlight, mayNotRestore }) =>
  mayNotRestore
    ? lossSeenByOtherFirst(limit, losses.length)
    : lossSeenFirst(limit, losses.length, mostInFlight, sum(losses))

/** A lagging replica takes over: its lag, and what was admitted within it, as if in a second. */
export const whenAReplicaTakesOver: Bound = ({ limit, behind }) =>
  laggingReplica(limit, behind, 1_000)

/** Both happen, so the excess of one adds to that of the other. */
export function whenBoth(one: Bound, other: Bound): Bound {
  return (story) => one(story) + other(story) - story.limit
}

function sum(units: readonly number[]): number {
  return units.reduce((total, each) => total + each, 0)
}
