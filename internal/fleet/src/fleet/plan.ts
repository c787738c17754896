// What the processes of a story have in common, as its options say: what limits them, and what is
// made of their stores.

import { fixedWindow, type Policy } from '../../../../packages/core/src/index.js'
import type { LeaseOptions } from '../../../../packages/core/src/layers/leases/limits.js'
import type { StoryOptions } from './choices.js'
import { flowsOf, guardsOf, makersOf, slotUsesOf } from './policies.js'
import type { Terms } from './terms.js'

export interface Plan {
  /** Of one decision. */
  readonly policies: readonly Policy[]
  /** Of each policy the key that it limits in place of the request's. */
  readonly policyKeys: readonly (string | undefined)[]
  /** Policies of a decision lie on several slots of a Cluster: what one denies, the others give
   *  back. */
  readonly isAcrossSlots: boolean
  /** Classes, with the part of a limit that each leaves to others. */
  readonly reserve: Readonly<Record<string, number>> | undefined
  readonly keys: readonly string[]
  /** By which each process decides in an outage. */
  readonly whenUnavailable: Policy | 'local'
  readonly leases: LeaseOptions | undefined
  /** How many keys a process remembers, where it sees many more; else all. */
  readonly maxLocalKeys: number | undefined
  /** The policies whose slots are held, each with the key that it limits in place of the request's;
   *  undefined: nobody holds any. */
  readonly slotUses: ReturnType<typeof slotUsesOf> | undefined
  /** Where the limit changes while the story runs: the policy, of another limit. */
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
    reserve: batch > 0 && !isLive ? { normal: 0.2, batch: batch / 100 } : undefined,
    // In a Cluster more of them, so that some share a slot, and some a shard that stays well.
    keys: Array.from({ length: (isOnCluster ? 2 : 1) * options.keys }, (_, i) =>
      `user-${i}`.padEnd(options.keyLength, '-'),
    ),
    whenUnavailable: ownLimit > 0 ? fixedWindow({ limit: ownLimit, window: '1h' }) : 'local',
    leases: kind === 'hot' || kind === 'hot flows' ? { units, holdMs } : undefined,
    // The fewest that the option allows.
    maxLocalKeys: kind === 'crowded' ? 1_000 : undefined,
    slotUses:
      options.slots > 0 && kind !== 'crowded'
        ? slotUsesOf(options.slots, options.slotMs, options.shared)
        : undefined,
    live: isLive ? makers[0] : undefined,
  }
}

/** Makes the policies of a decision. */
export function makersIn(
  { kind, algorithm, refillMs }: StoryOptions,
  count: number,
): readonly ((limit: number) => Policy)[] {
  if (kind === 'flows' || kind === 'hot flows') return flowsOf(count, refillMs)
  return kind === 'guessers' ? guardsOf(algorithm, count) : makersOf(algorithm, count)
}

/** About how many units a request asks for. */
export function meanUnits({ weighted, mostUnits, upTo }: StoryOptions): number {
  return 1 + ((weighted + upTo) / 100) * Math.max(0, mostUnits / 2 - 1)
}
