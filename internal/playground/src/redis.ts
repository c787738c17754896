// What Redis is asked, according to the algorithms' Lua (packages/core/src/algorithms/*/kernel.lua)
// and docs/redis.md. Tests compare all of it with these, and with a real Redis.

import type { Policy } from '@weir/core'
import { kernelOf, numbersOf } from '@weir/core/internal'
import type { Stored } from '../../../packages/core/src/algorithms/repository.js'

/** The limiter's name on this page; keys in Redis have it. */
export const LIMITER = 'api'

export interface Asked extends Stored {
  /** The Redis key of the traffic's first key. */
  readonly key: string
  /** The command that a decision sends. */
  readonly call: string
  /** What a key's state grows to, in words. */
  readonly growth: string
}

/** @param key letters and digits only, which need no encoding in Redis */
export function askedOf(policy: Policy, stored: Stored, key: string): Asked {
  const name = policy.nameWithoutLimit ?? policy.name
  const redisKey = `weir:{${key}}:${LIMITER}:${name}:${kernelOf(policy)?.id}-${policy.timeScale}`
  const call = `EVALSHA <script> 1 ${redisKey} ${numbersOf(policy).join(' ')}`
  const { kept, most } = stored
  const growth = most === undefined ? `${kept}, always` : `${kept}, at most ${most}`
  return { ...stored, key: redisKey, call, growth }
}
