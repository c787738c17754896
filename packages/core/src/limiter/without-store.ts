// Decisions that no store makes: nothing limits, the limiter is switched off, or a policy function
// failed and `whenPolicyFails` says what holds.

import { unlimited } from '../algorithms/unlimited.js'
import type { Mode } from '../store.js'
import { SWITCHED_OFF, UNLIMITED } from './counters.js'
import { type Allowed, type Decision, unlimitedDecision, withoutPolicy } from './decision.js'
import { published } from './observers.js'
import type { LimiterParts } from './parts.js'
import { ALLOWED, DENIED } from './policy-choice.js'
import type { Resolved } from './policy-set.js'

const DISABLED = unlimited({ name: 'disabled' })

/** The decision where no policy set limits: there is no limit, or nothing says which. */
export function withoutStore(
  { name, counters }: LimiterParts,
  resolved: Resolved,
  key: string,
  mode: Mode = 'consume',
): Decision {
  const { first } = resolved
  const isUnknown = resolved === DENIED || resolved === ALLOWED
  if (isUnknown && mode === 'consume') counters.countUnknown(first, resolved === ALLOWED)
  if (resolved === DENIED) return published(withoutPolicy(name, key, first), mode)
  if (!isUnknown && mode === 'consume') counters.count(UNLIMITED)
  const source = isUnknown ? 'local' : 'none'
  return published(unlimitedDecision(name, key, first, source, isUnknown), mode)
}

export function switchedOff(
  { name, counters }: LimiterParts,
  key: string,
  mode: Mode = 'consume',
): Allowed {
  if (mode === 'consume') counters.count(SWITCHED_OFF)
  return published(unlimitedDecision(name, key, DISABLED, 'none', true), mode)
}
