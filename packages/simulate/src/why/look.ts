// What a limiter's policies say about a key. Asks with `peek`, which writes nothing.

import {
  type Policy,
  type PolicyInput,
  type PolicyUse,
  RateLimiter,
  type RedisStore,
} from '@weir/core'
import { kernelOf } from '@weir/core/internal'
import type { PolicyResult } from '@weir/core/store'
import type { Live, LivePolicy } from './live.js'
import { isSame } from './words.js'

/** A limiter's policy, and where it comes from. */
export interface Source {
  readonly use: PolicyUse
  /** Undefined: the policy comes from the file alone. */
  readonly live: LivePolicy | undefined
  /** The policy that the file has in its place; undefined: the same one, or none. */
  readonly inFile: Policy | undefined
}

export interface Limiter {
  readonly name: string
  readonly sources: readonly Source[]
  /** True: all sources are one decision. False: the application chooses among them. */
  readonly areTogether: boolean
}

/** What one policy says. */
export interface Finding extends Source {
  /** The policy's name in the store. */
  readonly name: string
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly cost: number
  readonly passes: boolean
  /** In how many ms the request would pass; `Infinity`: never. */
  readonly retryAfterMs: number
  readonly resetAfterMs: number
  /** A lock-out's block. */
  readonly block: PolicyResult['block']
  /** A bucket's turns that are reserved ahead: their units, and in how many ms the next one is. */
  readonly turns: { readonly units: number; readonly nextMs: number } | undefined
  /** Something is stored under the key. */
  readonly isStored: boolean
}

/** @throws {StoreError} if the store cannot answer */
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
      // A limiter without a name puts its limits into its policies' names.
      const named = name === 'default' ? {} : { name }
      const limiter = new RateLimiter({ ...named, store, policy, shared: true })
      const { policies } = await limiter.peek(key, { cost })
      return findingsIn(group, policies)
    }),
  )
  return all.flat()
}

/** A policy that limits nothing has no result if others in the group do limit. */
function findingsIn(group: readonly Source[], results: readonly PolicyResult[]) {
  const limiting = group.filter(({ use }) => kernelOf(use.policy) !== undefined)
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

/** A full bucket drains in its window: any time beyond that is reserved by waiting requests. */
function turnsIn({ policy, resetAfterMs, retryAfterMs }: PolicyResult): Finding['turns'] {
  const { unitMs, windowMs } = policy
  const units = unitMs > 0 ? Math.floor((resetAfterMs - windowMs) / unitMs) : 0
  return units > 0 ? { units, nextMs: retryAfterMs } : undefined
}

/** The policies of a file, each replaced by its live policy if there is one. */
export function sourcesOf(uses: readonly PolicyUse[], live: Live | undefined): readonly Source[] {
  return uses.map((use) => {
    const own = liveOf(use.policy, live?.policies ?? [])
    if (own === undefined) return { use, live: undefined, inFile: undefined }
    const inFile = isSame(own.policy, use.policy) ? undefined : use.policy
    return { use: { ...use, policy: own.policy }, live: own, inFile }
  })
}

/** The live policy in place of a policy. If several have its name, the one that is the same. */
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
