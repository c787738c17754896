// What Redis is asked, according to the algorithms' Lua (packages/core/src/algorithms/*/kernel.lua)
// and docs/redis.md. Tests compare all of it with these, and with a real Redis.

import type { Policy } from '@weir/core'

/** The limiter's name on this page; keys in Redis have it. */
export const LIMITER = 'api'

interface KernelFacts {
  /** The script's commands for every request, after TIME. */
  readonly reads: readonly string[]
  /** Its further commands for a request that passes. A refused request writes nothing. */
  readonly writes: readonly string[]
  readonly state: string
}

/** By kernel id. */
const KERNELS: Readonly<Record<string, KernelFacts>> = {
  bucket1: {
    reads: ['GET'],
    writes: ['SET', 'INCRBY'],
    state: 'STRING, one number: when all that was taken has drained',
  },
  fixed1: { reads: ['GET'], writes: ['SET'], state: 'STRING count:end' },
  counter1: { reads: ['GET'], writes: ['SET'], state: 'STRING start:previous:current' },
  log1: {
    reads: ['LINDEX', 'LLEN'],
    writes: ['RPUSH', 'LSET', 'LPOP', 'LTRIM', 'DEL', 'PEXPIRE'],
    state: 'LIST of tick:weight:sum',
  },
}

interface Growth {
  readonly kept: string
  /** undefined: it does not grow. */
  readonly most?: string
}

/** What a key's state grows to, as docs/redis.md says under "Memory". */
const GROWTH: Readonly<Record<string, Growth>> = {
  bucket1: { kept: 'a number' },
  fixed1: { kept: 'a short text' },
  counter1: { kept: 'a short text' },
  'sliding-window': { kept: 'a list', most: '61 entries, about 1,460 bytes' },
  'sliding-log': { kept: 'a list', most: 'about 20 bytes for each unit of the limit' },
}

export interface Asked extends KernelFacts {
  /** The Redis key of the traffic's first key. */
  readonly key: string
  /** The command that a decision sends. */
  readonly call: string
  /** What a key's state grows to, in words. */
  readonly growth: string
}

/** @param key letters and digits only, which need no encoding in Redis */
export function askedOf(policy: Policy, key: string): Asked {
  const kernel = policy.kernel as NonNullable<Policy['kernel']>
  const name = policy.nameWithoutLimit ?? policy.name
  const redisKey = `weir:{${key}}:${LIMITER}:${name}:${kernel.id}-${policy.timeScale}`
  const call = `EVALSHA <script> 1 ${redisKey} ${policy.numbers.join(' ')}`
  const { kept, most } = growthOf(policy)
  const growth = most === undefined ? `${kept}, always` : `${kept}, at most ${most}`
  return { ...(KERNELS[kernel.id] as KernelFacts), key: redisKey, call, growth }
}

/** The two policies of the kernel `log1` keep lists of different lengths. */
export function growthOf(policy: Policy): Growth {
  return (GROWTH[policy.algorithm] ?? GROWTH[String(policy.kernel?.id)]) as Growth
}
