// The targets: the policies that count units, with 100 units a minute, and the most that can be
// taken in a minute.

import { budget } from '../../../src/algorithms/budget/policies.js'
import type { PolicyDescription } from '../../../src/algorithms/description.js'
import { fixedWindow } from '../../../src/algorithms/fixed-window/policies.js'
import type { Policy } from '../../../src/algorithms/policy.js'
import { slidingWindow } from '../../../src/algorithms/sliding-log/policies.js'
import { policyFactories } from '../../../src/testing/algorithms.js'
import { unitFactories } from '../../unit-factories.js'
import { randomFrom } from '../../virtual-time.js'
import { edgeAttacks, type Raid, raid, refundAttack, search } from './attack.js'

export interface Target {
  readonly call: string
  readonly policy: Policy
  /** The most units in any minute. */
  readonly bound: number
}

const limit = 100
const window = '1m'

/** Other forms of the policies. */
const forms: Readonly<Record<string, Policy>> = {
  'slidingWindow (7 parts)': slidingWindow({ limit, window, parts: 7 }),
  'fixedWindow, aligned': fixedWindow({ limit, window, aligned: true }),
  'budget, without estimates': budget({ limit }),
}

export const targets: readonly Target[] = [
  ...Object.entries(unitFactories)
    .map(([call, { of }]) => targetOf(call, of(limit, window)))
    // Estimates that nobody settles come back before the minute is over.
    .filter(({ policy }) => policy.kernel?.traits.isHeld !== true),
  ...Object.entries(forms).map(([call, policy]) => targetOf(call, policy)),
].filter(isFirst)

function targetOf(call: string, policy: Policy): Target {
  const [factory = ''] = call.split(/\W/)
  const { units } = (policyFactories[factory] as PolicyDescription).bound(policy)
  return { call, policy, bound: units }
}

/** Factories of one kernel may make the same policy in other words. */
function isFirst({ policy }: Target, i: number, all: readonly Target[]): boolean {
  const same = (other: Target): boolean =>
    other.policy.kernel === policy.kernel && `${other.policy.numbers}` === `${policy.numbers}`
  return all.findIndex(same) === i
}

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
    const worst = raid(policy, search(policy, randomFrom(seed), tries))
    return { ...target, edge, searched: worst.held, worst }
  })
}
