// What the cases of the conformance suite work with.

import type { Letter, PolicyExample } from '../../algorithms/description.js'
import type { Policy } from '../../algorithms/policy.js'
import type { Duration } from '../../base/duration.js'
import type { RateLimiter } from '../../limiter/limiter.js'
import type { PolicyInput } from '../../policy-input.js'
import type { Mode, Store } from '../../store.js'
import type { FakeClock } from '../clock.js'
import type { Subject } from '../units.js'

/** A store that only this case uses. */
export interface Bench {
  readonly clock: FakeClock
  readonly store: Store
  /** Unique to this case and run. */
  readonly run: string
  /** Policies of the algorithms that the suite was asked for. */
  readonly examples: readonly PolicyExample[]
  limiter(policy: PolicyInput): RateLimiter
  /** The policy, asked in units: a lock-out counts as many as a call costs. */
  subject(policy: Policy): Subject
  /** Makes a policy of one of those algorithms, where it does not matter which. */
  policy(limit: number, window: Duration, name?: string): Policy
}

export interface Case {
  readonly name: string
  /** The calls that it makes to the store. */
  readonly modes: readonly (Mode | 'reset')[]
  readonly run: (bench: Bench) => Promise<void>
}

/** A case that is run for each example policy. */
export interface PolicyCase extends Omit<Case, 'run'> {
  /** The letter of the contract that an algorithm may be exempt from. */
  readonly letter?: Letter | undefined
  readonly run: (bench: Bench, policy: Policy, make: PolicyExample['make']) => Promise<void>
}

/** @throws {Error} if the two differ */
export function same(what: string, found: unknown, expected: unknown): void {
  if (!Object.is(found, expected))
    throw new Error(`${what}: expected ${String(expected)}, got ${String(found)}`)
}
