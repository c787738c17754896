// What the options of a story mean for all its processes: their policies, and the options of their
// stores.

import { fixedWindow, type Policy } from '../../../../packages/core/src/index.js'
import type { LeaseOptions } from '../../../../packages/core/src/layers/leases/limits.js'
import type { StoryOptions } from './choices.js'
import { budgetUsesOf, flowsOf, guardsOf, makersOf, slotUsesOf } from './policies.js'
import type { Terms } from './terms.js'

export interface Plan {
  /** The policies of a decision. */
  readonly policies: readonly Policy[]
  /** For each policy, its policy key; undefined: the request's key. */
  readonly policyKeys: readonly (string | undefined)[]
  /** The policies of a decision are in several slots of a Cluster: when one denies, the others give
   *  back what they took. */
  readonly isAcrossSlots: boolean
  /** The same of budgets: Redis may hold one part of an estimate, and not the other. */
  readonly areBudgetsAcrossSlots: boolean
  /** The classes, with the part of each limit that they leave to others. */
  readonly reserve: Readonly<Record<string, number>> | undefined
  readonly keys: readonly string[]
  /** The policy by which each process decides in an outage. */
  readonly whenUnavailable: Policy | 'local'
  readonly leases: LeaseOptions | undefined
  /** How many keys a process remembers, if it sees many more; otherwise all. */
  readonly maxLocalKeys: number | undefined
  /** The policies whose slots processes hold, each with its policy key; undefined: nobody holds
   *  slots. */
  readonly slotUses: ReturnType<typeof slotUsesOf> | undefined
  /** Budgets in which processes hold estimates, in the same way. */
  readonly budgetUses: ReturnType<typeof budgetUsesOf> | undefined
  /** Makes the policy with another limit, if the limit changes while the story runs. */
  readonly live: ((limit: number) => Policy) | undefined
}

export function planOf(options: StoryOptions, { isOnCluster }: Terms): Plan {
  const { kind, policies: count, limit, batch, leaseUnits: units, holdMs, ownLimit } = options
  const isLive = options.live && kind === 'plain'
  const makers = makersIn(options, isLive ? 1 : count)
  const isShared = options.shared && makers.length > 1
  const last = makers.length - 1
  return {
    policies: makers.map((make) => make(limit)),
    policyKeys: makers.map((_, i) => (isShared && i === last ? 'all' : undefined)),
    isAcrossSlots: isShared && isOnCluster === true,
    areBudgetsAcrossSlots: options.shared && isOnCluster === true,
    reserve: batch > 0 && !isLive ? { normal: 0.2, batch: batch / 100 } : undefined,
    // A Cluster gets more keys, so that some share a slot, and some are on a shard that stays well.
    keys: Array.from({ length: (isOnCluster ? 2 : 1) * options.keys }, (_, i) =>
      `user-${i}`.padEnd(options.keyLength, '-'),
    ),
    whenUnavailable: ownLimit > 0 ? fixedWindow({ limit: ownLimit, window: '1h' }) : 'local',
    leases: kind === 'hot' || kind === 'hot flows' ? { units, holdMs } : undefined,
    // The smallest value that the option allows.
    maxLocalKeys: kind === 'crowded' ? 1_000 : undefined,
    slotUses:
      options.slots > 0 && kind !== 'crowded'
        ? slotUsesOf(options.slots, options.slotMs, options.shared)
        : undefined,
    budgetUses:
      options.budget > 0 && kind !== 'crowded'
        ? budgetUsesOf(options.budget, options.budgetMs, options.shared)
        : undefined,
    live: isLive ? makers[0] : undefined,
  }
}

/** Functions that make the policies of a decision. */
export function makersIn(
  { kind, algorithm, refillMs }: StoryOptions,
  count: number,
): readonly ((limit: number) => Policy)[] {
  if (kind === 'flows' || kind === 'hot flows') return flowsOf(count, refillMs)
  return kind === 'guessers' ? guardsOf(algorithm, count) : makersOf(algorithm, count)
}

/** About how many units a request costs. */
export function meanUnits({ weighted, mostUnits, upTo }: StoryOptions): number {
  return 1 + ((weighted + upTo) / 100) * Math.max(0, mostUnits / 2 - 1)
}
