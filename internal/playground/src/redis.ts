// What Redis would be asked, from the algorithms' Lua (packages/core/src/algorithms/*/kernel.lua)
// and from docs/redis.md. Tests compare all of it with these, and with a real Redis.

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

/** The table under "Memory" in docs/redis.md, for a key of 20 characters. */
export const BYTES: Readonly<
  Record<string, { readonly factory: string; readonly first: string; readonly most: string }>
> = {
  'sliding-window': {
    factory: 'slidingWindow',
    first: '216',
    most: 'about 1,460 (61 entries)',
  },
  'sliding-log': {
    factory: 'slidingLog',
    first: '216',
    most: 'about 20 bytes for each unit of the limit',
  },
  'fixed-window': { factory: 'fixedWindow', first: '152', most: '152' },
  'sliding-counter': { factory: 'slidingCounter', first: '152', most: '152' },
  'token-bucket': { factory: 'tokenBucket', first: '120', most: '120' },
  gcra: { factory: 'gcra', first: '120', most: '120' },
  'leaky-bucket': { factory: 'leakyBucket', first: '120', most: '120' },
}

export interface Asked extends KernelFacts {
  /** The Redis key of the traffic's first key. */
  readonly key: string
  /** The command that a decision sends. */
  readonly call: string
  /** How many bytes a key takes, in words. */
  readonly bytes: string
}

/** @param key letters and digits only, which need no encoding in Redis */
export function askedOf(policy: Policy, key: string): Asked {
  const kernel = policy.kernel as NonNullable<Policy['kernel']>
  const name = policy.nameWithoutLimit ?? policy.name
  const redisKey = `weir:{${key}}:${LIMITER}:${name}:${kernel.id}-${policy.timeScale}`
  const call = `EVALSHA <script> 1 ${redisKey} ${policy.numbers.join(' ')}`
  const { first, most } = BYTES[policy.algorithm] as (typeof BYTES)[string]
  const bytes = first === most ? first : `${first} after one request, at most ${most}`
  return { ...(KERNELS[kernel.id] as KernelFacts), key: redisKey, call, bytes }
}
