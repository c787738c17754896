// Blocks a key by hand, and ends its blocks, under a limiter's lock-outs.

import { durationMs, durationText } from '../base/duration.js'
import { quote, rangeError, StoreError, typeError } from '../base/errors.js'
import { nameOfKey } from '../base/key-name.js'
import { isPromise } from '../base/maybe-async.js'
import { checkedOptions } from '../base/options.js'
import { type LayerRequest, promiseOf } from '../layer.js'
import { checkedKey, type Key } from '../policy-input.js'
import { MadeTarget, partOfRequest } from '../request.js'
import type { BlockRequest, StoreResult } from '../store.js'
import type { DecideOptions } from './options.js'
import type { LimiterParts } from './parts.js'
import type { Resolved } from './policy-set.js'

type BlockMode = BlockRequest['mode']

/** @throws {StoreError} WEIR_STORE_FAILED if the block holds in this process alone */
export async function blockKey(
  limiter: LimiterParts,
  key: Key,
  duration: Parameters<typeof durationMs>[0],
  options: Pick<DecideOptions, 'policy'> | undefined,
): Promise<void> {
  const ms = durationMs(duration)
  const { degraded } = await asked(limiter, 'block', key, options, ms)
  if (!degraded) return
  const what = `the store of limiter "${limiter.name}" could not be told of a block`
  const where = 'it holds only in this process, until the store is back'
  throw new StoreError('WEIR_STORE_FAILED', `${what}; ${where}`)
}

export async function unblockKey(
  limiter: LimiterParts,
  key: Key,
  options: Pick<DecideOptions, 'policy'> | undefined,
): Promise<void> {
  await asked(limiter, 'unblock', key, options, 1)
}

/** @param units ms to block */
async function asked(
  limiter: LimiterParts,
  mode: BlockMode,
  of: Key,
  options: Pick<DecideOptions, 'policy'> | undefined,
  units: number,
): Promise<StoreResult> {
  const key = checkedKey(of)
  if (options !== undefined) checkedOptions(options, `${mode}()`, ['policy'])
  const known = limiter.policiesFor(mode, key, options?.policy)
  // Awaits only a promise, so that the store is asked in the order of the limiter's calls.
  const resolved = isPromise(known) ? await known : known
  return promiseOf(limiter.layer, requestFor(limiter, mode, key, resolved, units))
}

/**
 * The request for the lock-outs that limit the key: those without a policy key, and those whose
 * policy key it is.
 */
function requestFor(
  limiter: LimiterParts,
  mode: BlockMode,
  key: string,
  { policySet, policyKeys, uses }: Resolved,
  units: number,
): LayerRequest {
  const name = nameOfKey(key)
  const policies = policySet?.policies ?? []
  const places = [...policies.keys()].filter((i) => {
    return policies[i]?.kernel?.traits.blocks && (policyKeys?.[i]?.key ?? name) === name
  })
  if (policySet === undefined || places.length === 0) {
    const what = `${mode}() of limiter "${limiter.name}" needs a lock-out that limits the key`
    const names = uses.map(({ policy }) => policy.name).join(', ')
    const right = 'give lockout({...}) among its policies; one with a policy key, in the call:'
    const problem = `${what}, and its policies are ${names}; ${right} { policy: [{ policy, key }] }`
    throw typeError('WEIR_INVALID_POLICY', problem)
  }
  const costs = policies.map((policy, i) => {
    if (!places.includes(i)) return 0
    const longestMs = policy.kernel?.longestBlockMs?.(policy.numbers) ?? 0
    if (mode === 'unblock' || units <= longestMs)
      return mode === 'unblock' ? policy.limit + 1 : units
    const right = `at most what ${quote(policy.name)} takes to forget, ${durationText(longestMs)}`
    throw rangeError('WEIR_INVALID_DURATION', `duration is ${durationText(units)}; give ${right}`)
  })
  const target = new MadeTarget(policySet, name, policyKeys)
  const request = { mode, target, costs, count: 1 }
  // Other policies may lie in other slots of a Cluster.
  return policyKeys === undefined ? request : partOfRequest(request, places)
}
