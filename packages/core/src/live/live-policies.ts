// Named policies whose numbers are kept in the store: changed for the whole fleet by one call.

import { checkedName } from '../algorithms/policy.js'
import { type Checks, checkAll, ofType, unchecked } from '../base/options.js'
import { processTime, type Time } from '../base/time.js'
import type { Store } from '../store.js'
import { fieldsOf } from './changes.js'
import { checkedDefaults, settingsOf } from './checks.js'
import { edits } from './edits.js'
import { fieldOf } from './fields.js'
import { policiesOfKeys } from './policy-of-key.js'
import { liveInProcess } from './process.js'
import { processesOf } from './reports.js'
import type { LivePolicies, LivePoliciesOptions } from './types.js'

/**
 * Named policies whose numbers are kept in the store, and can be changed for all processes by one
 * call, here or by `npx weir limits`. A change is checked, stored with a version, and holds in all
 * processes from the same instant, 1.5 s later. Until the store has been read, and where it has
 * nothing, the defaults hold; when it cannot be read, what was read last.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME, WEIR_INVALID_POLICY
 * @example
 * const limits = livePolicies(store, {
 *   name: 'plans',
 *   defaults: { 'plan-pro': tokenBucket({ name: 'api', capacity: 20, refill: 10, every: '1s' }) },
 * })
 * const limiter = new RateLimiter({ name: 'api', store, policy: limits.policy('plan-pro') })
 * const twice = tokenBucket({ name: 'api', capacity: 40, refill: 20, every: '1s' })
 * await limits.set('plan-pro', twice)
 */
export function livePolicies<Name extends string>(
  store: Store,
  options: LivePoliciesOptions<Name>,
): LivePolicies<Name> {
  return livePoliciesIn(processTime, store, options)
}

const CHECKS: Checks<LivePoliciesOptions> = {
  name: unchecked,
  defaults: unchecked,
  onChange: ofType('function'),
  onFailure: ofType('function'),
}

/** `livePolicies` in another time than the process's. */
export function livePoliciesIn<Name extends string>(
  time: Time,
  store: Store,
  options: LivePoliciesOptions<Name>,
): LivePolicies<Name> {
  checkAll(options, 'livePolicies()', CHECKS)
  const name = checkedName(options.name, 'name of live policies')
  const at = { settings: settingsOf(store), name, time }
  const { held, self, ...own } = liveInProcess(at, checkedDefaults(options.defaults), options)
  return {
    ...policiesOfKeys(held, at),
    ...edits(at, held),
    ...own,
    overrides: () => held.overrides,
    async list() {
      const [{ version }, fields, known] = await Promise.all([
        at.settings.news(name),
        fieldsOf(at),
        processesOf(at),
      ])
      const set = [...fields].map(([text, value]) => {
        const field = fieldOf(text)
        return field && { ...field, policy: held.readable(value) }
      })
      return {
        version,
        settings: set.filter((each) => each !== undefined),
        // A store that keeps no reports knows of none.
        processes: known.length === 0 ? [self()] : known,
      }
    },
  }
}
