// The most that may pass when Redis fails, as formulas (docs/resilience.md, "What may be lost").
// The table there is generated from these functions. The simulation and the fault matrix check
// them. What passes while all is well, the descriptions of algorithms say.

// Units are those in one window of a limit, whichever algorithm counts them. What flows back into a
// bucket in that time comes in addition.

/** The local quotas of `processes` that share a limit, by rank. They add up to it; some may be
 *  0. */
export function localQuotas(limit: number, processes: number): number[] {
  const whole = Math.floor(limit / processes)
  const remainder = limit % processes
  return Array.from({ length: processes }, (_, rank) => whole + (rank < remainder ? 1 : 0))
}

/**
 * All processes lose Redis, the breaker of each opens, and they come back, with its data or
 * without, each within 5 s of the first one. They know how many they are, and have seen the key.
 * @param inFlight requests on their way to Redis at the moment of the loss
 */
export function wholeOutage(limit: number, inFlight: number): number {
  return limit + inFlight
}

/**
 * The same, where units were taken that processes have not seen: by others since the process saw
 * the key, for another user of a policy key, or under another limit of the same name.
 * @param takenSince for each process, the units that were taken since it last saw the key; all
 *   taken units, if it never saw the key
 */
export function staleView(limit: number, takenSince: readonly number[]): number {
  return limit + sum(takenSince.map((units) => Math.ceil(units / takenSince.length)))
}

/**
 * Some processes cannot reach Redis, and the others can. The bound is for every window, for as long
 * as this lasts.
 * @param quotas the local quotas of the processes that are cut off
 */
export function partialOutage(limit: number, quotas: readonly number[]): number {
  return limit + sum(quotas)
}

/**
 * A process is back for more than 5 s before others are back and have reported what they admitted;
 * or it has no ceiling, since its local quota is 0 or its breaker did not open.
 * @param quotas the local quotas of those others
 */
export function returnOfProcesses(limit: number, quotas: readonly number[]): number {
  return partialOutage(limit, quotas)
}

/**
 * Processes start while Redis is away, and nobody has told them how many there are: each assumes
 * that it is alone.
 * @param started the number of such processes
 */
export function unknownInstances(limit: number, started: number): number {
  return limit * (1 + started)
}

/**
 * Single requests cannot be sent, or are answered too late, while other processes reach Redis.
 * @param admitted the units that were admitted locally for them; for each process, at most its
 *   quota
 */
export function failedCallsBesidePeers(limit: number, admitted: number): number {
  return limit + admitted
}

/**
 * Redis has run a call, and its reply is lost. What the call may have charged stays charged; what
 * it may have given back is not given back again.
 */
export function lostReply(limit: number): number {
  return limit
}

/**
 * Redis forgets a key, and a process that has seen it is the first to ask, or the only one.
 * @param losses how often the key is lost
 * @param inFlight requests of all processes on their way when a loss shows
 * @param unseen the units that the first process to ask had not seen, of all losses together
 */
export function lossSeenFirst(
  limit: number,
  losses: number,
  inFlight: number,
  unseen: number = 0,
): number {
  return limit + losses * inFlight + unseen
}

/**
 * Redis forgets a key, and either a process that has not seen it is the first to ask, or no process
 * that has seen it is left, or the call that restores it fails.
 * @param losses how often the key is lost
 */
export function lossSeenByOtherFirst(limit: number, losses: number): number {
  return limit * (1 + losses)
}

/**
 * Redis forgets the key of a lock-out: the attempts that are granted until a block begins that is
 * as long as the next one would have been. A process that has seen a block grants none before its
 * end.
 * @param level how many blocks had begun
 * @param seen the highest level that was seen by a process that asks afterwards
 */
export function lossOfLevels(limit: number, level: number, seen: number): number {
  return limit * (1 + level - seen)
}

/**
 * All processes lose Redis, and some no longer remember this key, since they have used more than
 * `maxLocalKeys` others, or forget it before they are back.
 * @param quotas the local quotas of the processes that have forgotten the key, each time
 */
export function moreKeysThanRemembered(limit: number, quotas: readonly number[]): number {
  return limit + sum(quotas)
}

/**
 * In an outage each process decides by the policy that `whenUnavailable` names. This comes in
 * addition to what passed before the outage.
 * @param limit the limit of that policy, in each of its windows
 */
export function ownPolicyInOutage(limit: number, processes: number): number {
  return processes * limit
}

/**
 * Processes cannot reach Redis for longer than slots last: how much is in progress at once.
 * @param held what each of these processes held when it lost Redis
 * @param quotas the local quotas of the same processes
 */
export function slotsInOutage(
  limit: number,
  held: readonly number[],
  quotas: readonly number[],
): number {
  return limit + sum(held) + sum(quotas)
}

/**
 * Redis forgets slots: how much is in progress at once until all slots have been renewed.
 * @param held what was in progress at that moment, in all processes
 */
export function lossOfSlots(limit: number, held: number): number {
  return limit + held
}

/**
 * A process ends with admitted units that Redis has not counted yet.
 * @param uncounted those units; at most its local quota
 */
export function endOfProcess(limit: number, uncounted: number): number {
  return limit + uncounted
}

/** A replica takes over that has not received the last `lagMs`. */
export function laggingReplica(limit: number, admittedPerSecond: number, lagMs: number): number {
  return limit + Math.ceil((admittedPerSecond * lagMs) / 1_000)
}

/** Several primaries serve, one on each side of a partition. */
export function partition(limit: number, sides: number): number {
  return limit * sides
}

/**
 * An outage begins while requests wait for a bucket.
 * @param turns requests to which Redis has given a turn; they pass in addition to those that wait
 *   locally
 */
export function waitingInOutage(limit: number, turns: number): number {
  return limit + turns
}

/**
 * Settlements fail; or those of a budget that holds estimates are repeated, and take the place of
 * others that share a run with them.
 * @param off what requests in flight used beyond what they had been charged; where settlements are
 *   repeated, also what they used less
 */
export function failedSettlements(limit: number, off: number): number {
  return limit + off
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
