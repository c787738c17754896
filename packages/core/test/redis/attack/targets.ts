// The targets: one policy of each kind, with 100 units a minute, and the most that can be taken in
// a minute.

import {
  aimedAtGrid,
  anyWindow,
  aroundEdge,
  fromBucket,
} from '../../../../../internal/fleet/src/promises/bounds.js'
import { tokenBucket } from '../../../src/algorithms/bucket/policies.js'
import { fixedWindow } from '../../../src/algorithms/fixed-window/policies.js'
import type { Policy } from '../../../src/algorithms/policy.js'
import { slidingCounter } from '../../../src/algorithms/sliding-counter/policies.js'
import { slidingLog, slidingWindow } from '../../../src/algorithms/sliding-log/policies.js'
import { edgeAttacks, mulberry32, type Raid, raid, refundAttack, search } from './attack.js'

export interface Target {
  readonly call: string
  readonly policy: Policy
  /** The most units in any minute, and why. */
  readonly bound: number
  readonly because: string
}

const limit = 100
const window = '1m'
const windowMs = 60_000

export const targets: readonly Target[] = [
  {
    call: 'slidingLog',
    policy: slidingLog({ limit, window }),
    bound: anyWindow(limit),
    because: 'the limit',
  },
  {
    call: 'slidingWindow (60 parts)',
    policy: slidingWindow({ limit, window }),
    bound: anyWindow(limit),
    because: 'the limit',
  },
  {
    call: 'slidingWindow (7 parts)',
    policy: slidingWindow({ limit, window, parts: 7 }),
    bound: anyWindow(limit),
    because: 'the limit',
  },
  {
    call: 'slidingCounter',
    policy: slidingCounter({ limit, window }),
    bound: aimedAtGrid(limit),
    because: 'less than twice the limit',
  },
  {
    call: 'fixedWindow',
    policy: fixedWindow({ limit, window }),
    bound: aroundEdge(limit),
    because: 'twice the limit',
  },
  {
    call: 'fixedWindow, aligned',
    policy: fixedWindow({ limit, window, aligned: true }),
    bound: aroundEdge(limit),
    because: 'twice the limit',
  },
  {
    call: 'tokenBucket, full in a minute',
    policy: tokenBucket({ capacity: limit, refill: limit, every: window }),
    bound: fromBucket(limit, limit, windowMs, windowMs),
    because: 'capacity + refill * t / every',
  },
]

export interface Measured extends Target {
  /** The units, by policy set, of an attacker who knows the edges. */
  readonly edge: number
  /** The units of an attacker who searched. */
  readonly searched: number
  readonly worst: Raid
}

/** The worst windows of all targets. */
export function measure(seed: number, tries: number): Measured[] {
  return targets.map((target) => {
    const { policy } = target
    const planned = [...edgeAttacks(policy.limit), refundAttack(policy)]
    const edge = Math.max(...planned.map((blows) => raid(policy, blows).held))
    const worst = raid(policy, search(policy, mulberry32(seed), tries))
    return { ...target, edge, searched: worst.held, worst }
  })
}
