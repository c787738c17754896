// rate-limiter-flexible and its classes on Weir, for the same programs.

import { recommendedRedisOptions } from '@weir/core'
import { Redis } from 'ioredis'
import * as there from 'rate-limiter-flexible'
import { afterAll, beforeAll } from 'vitest'
import * as here from '../src/rate-limiter-flexible.js'
import { newName, type OnRedis } from './on-redis.js'

export type Library = Pick<
  typeof there,
  | 'BurstyRateLimiter'
  | 'RLWrapperBlackAndWhite'
  | 'RateLimiterMemory'
  | 'RateLimiterQueue'
  | 'RateLimiterQueueError'
  | 'RateLimiterRedis'
  | 'RateLimiterRes'
  | 'RateLimiterUnion'
>

/** Both compile, so programs only need to change the import. */
export const LIBRARIES: Readonly<Record<'there' | 'here', Library>> = { there, here }

export type Options = Omit<ConstructorParameters<Library['RateLimiterRedis']>[0], 'storeClient'>
export type Limiter = there.RateLimiterAbstract

/** How a program makes its limiters: in memory or in Redis. */
export type Make = (options: Options) => Limiter

export type Kind = 'memory' | 'redis'
export const KINDS: readonly Kind[] = ['memory', 'redis']

/** Limiters of one run, with separate counters. */
export function makerOf(library: Library, kind: Kind, storeClient: unknown): Make {
  const run = newName()
  return ({ keyPrefix = '', ...options }) => {
    const own = { ...options, keyPrefix: `${run}${keyPrefix}` }
    if (kind === 'memory') return new library.RateLimiterMemory(own)
    return new library.RateLimiterRedis({ ...own, storeClient })
  }
}

/** A client as applications make it. */
export function clientOf(redis: OnRedis): { readonly client: Redis } {
  let client: Redis
  beforeAll(async () => {
    client = new Redis(redis.server.port, recommendedRedisOptions)
    await new Promise((resolve) => client.once('ready', resolve))
  })
  afterAll(() => client.disconnect())
  return {
    get client() {
      return client
    },
  }
}

/** The result of a call, in a form that does not depend on the speed of the machine. */
export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (value) => ({ granted: plain(value) }),
    (reason) => ({ refused: plain(reason) }),
  )
}

export async function outcomesOf(
  times: number,
  call: () => Promise<unknown>,
): Promise<readonly unknown[]> {
  const outcomes: unknown[] = []
  for (let i = 0; i < times; i += 1) outcomes.push(await outcomeOf(call()))
  return outcomes
}

export function plain(value: unknown): unknown {
  if (value instanceof Error) return 'an error'
  if (typeof value !== 'object' || value === null) return value
  const { msBeforeNext, ...rest } = value as there.RateLimiterRes
  if (typeof msBeforeNext === 'number') {
    const { consumedPoints, remainingPoints } = value as there.RateLimiterRes
    return { consumedPoints, remainingPoints, s: Math.round(msBeforeNext / 10_000) * 10 }
  }
  // The results of a union are under prefixes of the run.
  return Object.entries(rest).map(([prefix, each]) => [prefix.replace(/^.*#/, '#'), plain(each)])
}
