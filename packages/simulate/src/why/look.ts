// What the policies of a limiter say of a key. Asked by `peek`, which writes nothing.

import {
  type Policy,
  type PolicyInput,
  type PolicyResult,
  type PolicyUse,
  RateLimiter,
  type RedisStore,
} from '@weir/core'
import type { Live, LivePolicy } from './live.js'
import { isSame } from './words.js'

/** A policy of a limiter, and where it is known from. */
export interface Source {
  readonly use: PolicyUse
  /** Undefined: from the file alone. */
  readonly live: LivePolicy | undefined
  /** What the file has in its place; undefined: the same, or nothing. */
  readonly inFile: Policy | undefined
}

export interface Limiter {
  readonly name: string
  readonly sources: readonly Source[]
  /** All of them are one decision. False: which of them are is for the application to say. */
  readonly areTogether: boolean
}

/** What one policy says. */
export interface Finding extends Source {
  /** What the store calls it. */
  readonly name: string
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly cost: number
  readonly passes: boolean
  /** Until the request passes; `Infinity`: never. */
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  /** Of a lock-out. */
  readonly block: PolicyResult['block']
  /** Turns of a bucket that are reserved ahead: units, and when the next one is. */
  readonly turns: { readonly units: number; readonly nextMs: number } | undefined
  /** Something counts. */
  readonly isStored: boolean
}

/** @throws {StoreError} if the store cannot tell */
export async function look(
  store: RedisStore,
  { name, sources, areTogether }: Limiter,
  key: string,
  cost: number,
): Promise<readonly Finding[]> {
  const groups = areTogether ? [sources] : sources.map((each) => [each])
  const all = await Promise.all(
    groups.map(async (group) => {
      const policy: PolicyInput = group.map(({ use }) => use)
      // A limiter without a name has limits in the names of its policies.
      const named = name === 'default' ? {} : { name }
      const limiter = new RateLimiter({ ...named, store, policy, shared: true })
      const { policies } = await limiter.peek(key, { cost })
      return findingsIn(group, policies)
    }),
  )
  return all.flat()
}

/** Policies that limit nothing have no result beside others that do. */
function findingsIn(group: readonly Source[], results: readonly PolicyResult[]) {
  const limiting = group.filter(({ use }) => use.policy.kernel !== undefined)
  return group.map((source) => {
    const result = results[limiting.indexOf(source)]
    return result === undefined ? unlimited(source) : findingOf(source, result)
  })
}

function findingOf(source: Source, result: PolicyResult): Finding {
  const { policy, limit, remaining, cost, retryAfterMs, resetAfterMs, block } = result
  const passes = cost === 0 || remaining >= cost
  return {
    ...source,
    ...{ name: policy.name, limit, remaining, cost, passes, resetAfterMs, block },
    used: Math.max(0, limit - remaining),
    retryAfterMs: passes ? 0 : retryAfterMs,
    turns: turnsIn(result),
    isStored: remaining < limit || resetAfterMs > 0 || (block?.level ?? 0) > 0,
  }
}

function unlimited(source: Source): Finding {
  const limit = Number.POSITIVE_INFINITY
  const nothing = { used: 0, cost: 0, retryAfterMs: 0, resetAfterMs: 0 }
  const none = { block: undefined, turns: undefined, isStored: false, passes: true }
  return { ...source, ...nothing, ...none, name: source.use.policy.name, limit, remaining: limit }
}

/** A full bucket drains in its window: what is longer was reserved by those who wait. */
function turnsIn({ policy, resetAfterMs, retryAfterMs }: PolicyResult): Finding['turns'] {
  const { unitMs, windowMs } = policy
  const units = unitMs > 0 ? Math.floor((resetAfterMs - windowMs) / unitMs) : 0
  return units > 0 ? { units, nextMs: retryAfterMs } : undefined
}

/** Limiters as a file has them, with what is set in place of what the file says. */
export function sourcesOf(uses: readonly PolicyUse[], live: Live | undefined): readonly Source[] {
  return uses.map((use) => {
    const own = liveOf(use.policy, live?.policies ?? [])
    if (own === undefined) return { use, live: undefined, inFile: undefined }
    const inFile = isSame(own.policy, use.policy) ? undefined : use.policy
    return { use: { ...use, policy: own.policy }, live: own, inFile }
  })
}

/** What live policies have in place of a policy. Several may have its name: then it is the one that
 *  is the same. */
function liveOf(policy: Policy, all: readonly LivePolicy[]): LivePolicy | undefined {
  const alike = all.filter((each) => each.otherwise?.name === policy.name)
  const same = alike.find((each) =>
    [each.declared, each.otherwise, each.policy].some((one) => one && isSame(one, policy)),
  )
  return same ?? (alike.length === 1 ? alike[0] : undefined)
}

/** Live policies alone. */
export function sourcesOfLive({ policies }: Live): readonly Source[] {
  return policies.map((live) => ({ use: { policy: live.policy }, live, inFile: undefined }))
}
