// The table "What may be lost" of docs/resilience.md, with a row for each formula.

import { type BoundRow, example, LIMIT, tableOf } from './bound-row.js'
import * as bounds from './bounds.js'

const PROCESSES = 4
const quotas: readonly number[] = bounds.localQuotas(LIMIT, PROCESSES)
const q = quotas[0] as number

export type LossFormula = Exclude<keyof typeof bounds, 'localQuotas'>

export const lossRows: Readonly<Record<LossFormula, BoundRow>> = {
  wholeOutage: {
    when: 'all processes lose Redis, or Redis and its data or a part of it; all breakers open, all processes return within 5 s of each other, know how many they are, have seen the key, and ask for it again within 5 s of their return',
    passes: 'L + requests in flight at that moment',
    example: example('3 in flight', `${LIMIT} + 3`, bounds.wholeOutage(LIMIT, 3)),
  },
  staleView: {
    when: 'the same, but a process has not seen t units: others took them after it last saw the key, or they were taken by another user with the same [policy key](choosing.md#several-limits-in-one-decision), under another limit of the same name, or before a live change of the limit',
    passes: 'L + t / n for each process, rounded up',
    example: example(
      'one took 99, unseen',
      `${LIMIT} + 25 + 25 + 25`,
      bounds.staleView(LIMIT, [99, 99, 99, 0]),
    ),
  },
  partialOutage: {
    when: 'some processes cannot reach Redis, and the others can',
    passes: 'L + the q of each that cannot, in every window',
    example: example('three', `${LIMIT} + ${3 * q}`, bounds.partialOutage(LIMIT, quotas.slice(1))),
  },
  returnOfProcesses: {
    when: 'a process is back before others have returned and counted what they admitted: either more than 5 s before they have done so, or without a ceiling, as its q is 0 or its breaker did not open (fewer than 5 requests in the outage)',
    passes: 'L + the q of each of those others',
    example: example('two others', `${LIMIT} + ${2 * q}`, bounds.returnOfProcesses(LIMIT, [q, q])),
  },
  unknownInstances: {
    when: '`instances` is not given, and processes lose Redis before they have counted each other: they start while it is away, or less than 3.5 s before, or go on less than 3.5 s before after a pause or a partition of more than 10 s',
    passes: 'L + L for each that starts or goes on',
    example: example('two', `${LIMIT} + 2 × ${LIMIT}`, bounds.unknownInstances(LIMIT, 2)),
  },
  failedCallsBesidePeers: {
    when: 'a single request fails while other processes reach Redis',
    passes: 'L + what was admitted for it, at most q',
    example: example('a cost of 24', `${LIMIT} + 24`, bounds.failedCallsBesidePeers(LIMIT, 24)),
  },
  endOfProcess: {
    when: 'a process ends with units admitted that are not yet counted in Redis',
    passes: 'L + those units, at most q',
    example: example('10 units', `${LIMIT} + 10`, bounds.endOfProcess(LIMIT, 10)),
  },
  lostReply: {
    when: 'a reply is lost, or comes after its deadline',
    passes:
      'L: a charge that may have been made stands, and a refund that may have been made is not repeated',
    example: example('', `${LIMIT}`, bounds.lostReply(LIMIT)),
  },
  lossSeenFirst: {
    when: 'Redis forgets a key, and a process that has seen it is the first to ask',
    passes:
      'L + requests in flight when the loss shows, that one included + units that it has not seen, for each loss',
    example: example(
      'two losses, 5 in flight, once 20 units unseen',
      `${LIMIT} + (5 + 0) + (5 + 20)`,
      bounds.lossSeenFirst(LIMIT, 2, 5, 20),
    ),
  },
  lossSeenByOtherFirst: {
    when: "the same, but a process that has not seen the key is the first to ask, or those that have seen it ask for it later; or the call that restores it fails, or follows a refund of what was taken since the loss; or it is that of a [budget](budgets.md) whose estimates may have expired instead; or a restart with older data is hidden, by a proxy that keeps the client's connection, up to 3 s, or from GLIDE, of which no call failed meanwhile",
    passes: 'L + L for each loss',
    example: example(
      'two losses',
      `${LIMIT} + 2 × ${LIMIT}`,
      bounds.lossSeenByOtherFirst(LIMIT, 2),
    ),
  },
  lossOfLevels: {
    when: 'Redis forgets a [lock-out](lock-outs.md), and the processes that ask have not seen its last blocks',
    passes:
      'L + L for each unseen level, until a block is as long as it would have been without the loss; a process that has seen a block grants nothing before its end',
    example: example(
      'two of three levels not seen',
      `${LIMIT} + 2 × ${LIMIT}`,
      bounds.lossOfLevels(LIMIT, 3, 1),
    ),
  },
  moreKeysThanRemembered: {
    when: 'an outage begins, and a process no longer remembers the key, as it has seen more than [`maxLocalKeys`](#how-many-keys) others since; or it forgets the key in the outage, as it grants units under more keys than that',
    passes: 'L + the q of each such process, each time',
    example: example(
      'all four, once',
      `${LIMIT} + ${PROCESSES * q}`,
      bounds.moreKeysThanRemembered(LIMIT, quotas),
    ),
  },
  ownPolicyInOutage: {
    when: '`whenUnavailable` is [a policy](#small-limits) with the limit P',
    passes: 'n × P in the outage, on top of what passed before it',
    example: example('P = 5, n = 10', '10 × 5', bounds.ownPolicyInOutage(5, 10)),
  },
  slotsInOutage: {
    when: 'processes cannot reach Redis for longer than the slots of a [`concurrency`](concurrency.md) last, and come back one by one',
    passes:
      'in progress at once: L + what each of them held + its q; if all are away, the L that they held + L',
    example: example(
      'one that held 40',
      `${LIMIT} + 40 + ${q}`,
      bounds.slotsInOutage(LIMIT, [40], [q]),
    ),
  },
  lossOfSlots: {
    when: 'Redis forgets the slots of a `concurrency`, or its clock jumps by more than they last',
    passes:
      'in progress at once: L + what was in progress, until its renewal after a third of `holdTimeout`',
    example: example('all were in use', `${LIMIT} + ${LIMIT}`, bounds.lossOfSlots(LIMIT, LIMIT)),
  },
  laggingReplica: {
    when: 'a lagging replica takes over',
    passes: 'L + rate × lag',
    example: example(
      '50 a second, 0.2 s',
      `${LIMIT} + 50 × 0.2`,
      bounds.laggingReplica(LIMIT, 50, 200),
    ),
  },
  partition: {
    when: 'two primaries serve in a partition',
    passes: 'L on each side; bound it with `min-replicas-to-write`',
    example: example('', `2 × ${LIMIT}`, bounds.partition(LIMIT, 2)),
  },
  waitingInOutage: {
    when: 'an outage begins while requests wait for a bucket',
    passes:
      'L + the requests that have a turn: up to twice the rate, until the last of them has passed',
    example: example('30 have a turn', `${LIMIT} + 30`, bounds.waitingInOutage(LIMIT, 30)),
  },
  failedSettlements: {
    when: 'settlements fail; or those of a [budget](budgets.md) that holds estimates are not answered, and repeated',
    passes:
      'L + what these requests used beyond their estimates; if repeated, also what they used less',
    example: example('40 units', `${LIMIT} + 40`, bounds.failedSettlements(LIMIT, 40)),
  },
}

export function lossesText(): string {
  const rows = Object.values(lossRows).map(({ when, passes, example: { when: of, most } }) => [
    when,
    passes,
    of === '' ? `${most}` : `${of}: ${most}`,
  ])
  return tableOf(
    ['when', 'passes, at the most', `with L = ${LIMIT}, n = ${PROCESSES}, q = ${q}`],
    rows,
  )
}
