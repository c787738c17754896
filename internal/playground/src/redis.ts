// What Redis would be asked, from the algorithms' Lua (packages/core/src/algorithms/*/kernel.lua)
// and from docs/redis.md. The tests hold all of it to these, and to a real Redis.

import type { Policy } from '@weir/core'

/** The limiter's name on this page; it is in the keys. */
export const LIMITER = 'api'

interface KernelFacts {
  /** Commands of the script, after TIME. */
  readonly reads: readonly string[]
  /** Commands of the script for a request that passes. A refused one writes nothing. */
  readonly writes: readonly string[]
  readonly state: string
}

/** By the ids of kernels. */
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

/** The table of docs/redis.md, "Memory": with a key of 20 characters. */
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
  /** Of the first key of the traffic. */
  readonly key: string
  /** What a decision sends. */
  readonly call: string
  /** Of a key, in words. */
  readonly bytes: string
}

/** @param key plain: letters and digits, which Redis has as they are */
export function askedOf(policy: Policy, key: string): Asked {
  const kernel = policy.kernel as NonNullable<Policy['kernel']>
  const name = policy.nameWithoutLimit ?? policy.name
  const redisKey = `weir:{${key}}:${LIMITER}:${name}:${kernel.id}-${policy.timeScale}`
  const call = `EVALSHA <script> 1 ${redisKey} ${policy.numbers.join(' ')}`
  const { first, most } = BYTES[policy.algorithm] as (typeof BYTES)[string]
  const bytes = first === most ? first : `${first} after one request, at most ${most}`
  return { ...(KERNELS[kernel.id] as KernelFacts), key: redisKey, call, bytes }
}
