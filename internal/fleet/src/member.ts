// A process of the fleet: the real store and limiter, over a simulated connection.

import type { Policy } from '../../../packages/core/src/algorithms/policy.js'
import type { Decision } from '../../../packages/core/src/limiter/decision.js'
import { inTime, RateLimiter } from '../../../packages/core/src/limiter/limiter.js'
import type { RedisStoreOptions } from '../../../packages/core/src/redis/options.js'
import { type RedisStore, redisStoreIn } from '../../../packages/core/src/redis/store.js'
import type { SimulatedConnection } from './network/connection.js'
import type { Latency } from './network/wire.js'
import type { Servers } from './servers.js'
import { Host } from './world/host.js'
import type { World } from './world/world.js'

export const DEADLINE_MS = 100

export interface MemberOptions {
  readonly name: string
  readonly policy: Policy
  readonly latency: Latency
  /** How fast its clocks run. */
  readonly rate: number
  readonly store: RedisStoreOptions
}

export class Member {
  readonly host: Host
  readonly connection: SimulatedConnection
  readonly store: RedisStore
  readonly limiter: RateLimiter
  decisions = 0
  /** It has noticed that Redis is away: its breaker has opened. */
  hasNoticed = false
  /** Its store is closed. */
  hasLeft = false
  /** Of each key, the units in use when it last heard of it from Redis. */
  readonly seen: Map<string, number> = new Map()

  constructor(world: World, servers: Servers, options: MemberOptions) {
    const { name, policy, latency, rate, store } = options
    this.host = new Host(world, name, rate)
    const { time } = this.host
    this.connection = servers.connect(this.host, latency, DEADLINE_MS)
    this.store = redisStoreIn(time, this.connection, { deadlineMs: DEADLINE_MS, ...store })
    this.store.on('breaker', ({ state }) => {
      if (state === 'open') this.hasNoticed = true
    })
    const made = inTime(time, { name: 'fleet', store: this.store, policy, shared: true })
    this.limiter = new RateLimiter(made)
  }

  /** Notes what a decision shows of Redis. */
  heard(key: string, { source, limit, remaining }: Decision): void {
    this.decisions += 1
    if (source === 'store') this.seen.set(key, limit - remaining)
  }
}
