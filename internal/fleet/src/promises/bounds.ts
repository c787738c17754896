// The most that may pass when Redis fails, as formulas. loss-rows.ts says when each holds, and
// makes the table of docs/resilience.md, "What may be lost", from them. The simulation and the
// fault matrix check them. What passes while all is well, the descriptions of algorithms say.

// Units are those in one window of a limit, whichever algorithm counts them. What flows back into a
// bucket in that time comes in addition.

/** The local quotas of `processes` that share a limit, by rank. They add up to it; some may be
 *  0. */
export function localQuotas(limit: number, processes: number): number[] {
  const whole = Math.floor(limit / processes)
  const remainder = limit % processes
  return Array.from({ length: processes }, (_, rank) => whole + (rank < remainder ? 1 : 0))
}

/** @param inFlight requests on their way to Redis at the moment of the loss */
export function wholeOutage(limit: number, inFlight: number): number {
  return limit + inFlight
}

/** @param takenSince for each process, the units that were taken since it last saw the key; all
 *   taken units, if it never saw the key */
export function staleView(limit: number, takenSince: readonly number[]): number {
  return limit + sum(takenSince.map((units) => Math.ceil(units / takenSince.length)))
}

/** @param quotas the local quotas of the processes that are cut off */
export function partialOutage(limit: number, quotas: readonly number[]): number {
  return limit + sum(quotas)
}

/** @param quotas the local quotas of the processes that are not back */
export function returnOfProcesses(limit: number, quotas: readonly number[]): number {
  return limit + sum(quotas)
}

/** @param started the number of processes that assume that they are alone */
export function unknownInstances(limit: number, started: number): number {
  return limit * (1 + started)
}

/** @param admitted the units that were admitted locally; for each process, at most its quota */
export function failedCallsBesidePeers(limit: number, admitted: number): number {
  return limit + admitted
}

export function lostReply(limit: number): number {
  return limit
}

/**
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

/** @param losses how often the key is lost */
export function lossSeenByOtherFirst(limit: number, losses: number): number {
  return limit * (1 + losses)
}

/**
 * @param level how many blocks had begun
 * @param seen the highest level that was seen by a process that asks afterwards
 */
export function lossOfLevels(limit: number, level: number, seen: number): number {
  return limit * (1 + level - seen)
}

/** @param quotas the local quotas of the processes that have forgotten the key, each time */
export function moreKeysThanRemembered(limit: number, quotas: readonly number[]): number {
  return limit + sum(quotas)
}

/** @param limit the limit of the policy for outages, in each of its windows */
export function ownPolicyInOutage(limit: number, processes: number): number {
  return processes * limit
}

/**
 * @param held what each process held when it lost Redis
 * @param quotas the local quotas of the same processes
 */
export function slotsInOutage(
  limit: number,
  held: readonly number[],
  quotas: readonly number[],
): number {
  return limit + sum(held) + sum(quotas)
}

/** @param held what was in progress when Redis forgot it, in all processes */
export function lossOfSlots(limit: number, held: number): number {
  return limit + held
}

/** @param uncounted what it had admitted; at most its local quota */
export function endOfProcess(limit: number, uncounted: number): number {
  return limit + uncounted
}

/** @param lagMs what happened in this time before, the replica has not received */
export function laggingReplica(limit: number, admittedPerSecond: number, lagMs: number): number {
  return limit + Math.ceil((admittedPerSecond * lagMs) / 1_000)
}

export function partition(limit: number, sides: number): number {
  return limit * sides
}

/** @param turns requests to which Redis has given a turn */
export function waitingInOutage(limit: number, turns: number): number {
  return limit + turns
}

/** @param off what requests in flight used beyond what they had been charged; where settlements are
 *   repeated, also what they used less */
export function failedSettlements(limit: number, off: number): number {
  return limit + off
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
