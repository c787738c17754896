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
  /** How many processes had not counted the others, nor been counted by them, when Redis was lost:
   *  they started while it was away or shortly before, or went on then after a long stop. The lists
   *  of this story leave them out. */
  readonly started: number
  /** For each process, whether it was stopped for a while. */
  readonly stopped: readonly boolean[]
  /** Whether a process had no ceiling any more when another one came back. */
  readonly isApart: boolean
  /** Whether each process that had seen the key before Redis lost it has told Redis what it had
   *  seen while all processes had a ceiling. */
  readonly areTold: boolean
  /** Whether a process may not notice that Redis has lost data: it has told no beat since these
   *  were written. */
  readonly mayBeUnnoticed: boolean
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
  /** The same, since Redis last forgot the key. */
  readonly inFlightSinceLoss: number
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
  /** Whether a result may show that the key was lost. That of a budget that holds estimates does
   *  not: they may have expired. */
  readonly showsLoss: boolean
  /** For such a budget: by how much estimates were off whose settlements may have been repeated. */
  readonly offTwice: number
  /** Whether the limit has changed. What was seen under a smaller limit does not show by how much
   *  that was exceeded. */
  readonly isChanged: boolean
  /** Whether the key is a policy key, under which each process sees the units of several users. */
  readonly isShared: boolean
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

/** The connection of the only process breaks while nothing is in flight. What the process saw
 *  before a live change is not taken into account. */
export const whenOneBlips: Bound = ({ limit, isChanged, unseen }) =>
  isChanged ? staleView(limit, [unseen[0] ?? 0]) : limit

/** A process that is the only one loses Redis, now and then. */
export const whenOneIsAway: Bound = (story) =>
  whenOneBlips({ ...story, limit: wholeOutage(story.limit, story.mostInFlight) })

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

/**
 * All processes lose Redis, perhaps soon after some of them have started, and come back one after
 * the other.
 */
export const whenAllComeBack: Bound = (story) => {
  const { limit, unseen, started, isApart } = story
  if (started > 0) return whenProcessesStart(story)
  const most = whenAllAreAway(story)
  if (!isApart) return most
  // At worst, the first one is the one with the smallest quota.
  return Math.max(most, returnOfProcesses(limit, localQuotas(limit, unseen.length).slice(0, -1)))
}

/** Some processes are stopped for a while, longer than any deadline. */
export const whenSomeAreStopped: Bound = ({ limit, unseen, stopped, areRanked }) => {
  const quotas = localQuotas(limit, unseen.length)
  const isOne = (_: unknown, i: number): boolean => stopped[i] === true
  if (areRanked) return partialOutage(limit, quotas.filter(isOne))
  return partialOutage(limit, quotas.slice(0, stopped.filter(isOne).length))
}

/** Redis forgets the key, once or more often. After a refund it is not restored, nor where nobody
 *  notices. */
export const whenKeysAreLost: Bound = (story) => {
  const { limit, losses, mostInFlight, mayNotRestore, showsLoss } = story
  return mayNotRestore || !showsLoss
    ? lossSeenByOtherFirst(limit, losses.length)
    : lossSeenFirst(limit, losses.length, mostInFlight, sum(losses))
}

/** A lagging replica takes over: its lag, and what was admitted within it, as if in a second. */
export const whenAReplicaTakesOver: Bound = ({ limit, behind }) =>
  laggingReplica(limit, behind, 1_000)

/**
 * Redis comes back with an older snapshot, or with none, after all processes have lost it. What is
 * lost passes again at the most.
 *
 * A process notices by its next beat, unless all that is lost was written since its last one. If
 * all do, less passes: as when a key is lost. And if their breakers have opened, and each process
 * tells what it has seen while the quotas are ceilings, the outage is none but one without losses.
 */
export const whenASnapshotIsBack: Bound = (story) => {
  const { limit, inFlightSinceLoss, mayBeUnnoticed } = story
  const all = whenAReplicaTakesOver(story)
  if (mayBeUnnoticed) return all
  const isRestored = haveAllACeiling(story) && story.areTold && !story.mayNotRestore
  if (isRestored && !story.isShared)
    return Math.min(all, lossSeenFirst(limit, 1, inFlightSinceLoss))
  return Math.min(all, whenKeysAreLost({ ...story, showsLoss: true }))
}

/** Whether each process that is back grants no more than its quota until all others are. */
function haveAllACeiling({ limit, unseen, noticed, started, isApart }: Story): boolean {
  const areAllCounted = started === 0 && limit >= unseen.length
  return areAllCounted && !isApart && !noticed.includes(false)
}

/** Both happen, so the excess of one adds to that of the other. */
export function whenBoth(one: Bound, other: Bound): Bound {
  return (story) => one(story) + other(story) - story.limit
}

function sum(units: readonly number[]): number {
  return units.reduce((total, each) => total + each, 0)
}
