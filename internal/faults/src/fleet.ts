// A service of several processes, each with a client, a store, and a limiter for each algorithm.
// Two stores in one process are two, so one process has them all; and each has a wire of its own,
// by which it can be cut off alone. Their stories are told step by step, so that what passes is
// known exactly.

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Decision,
  RateLimiter,
  type RedisStore,
  type RedisStoreOptions,
  recommendedRedisOptions,
  redisStore,
} from '@weir/core'
import { waitUntil } from '@weir/testkit'
import { Redis } from 'ioredis'
import { everyAlgorithm } from './algorithms.js'
import { type Check, countAtLeast, routine } from './checks.js'
import type { PolicySettings } from './client/protocol.js'
import { makePolicy } from './client/target.js'
import type { Stage, Wire } from './stage.js'

/** The part of a limit that passes at the least. */
const IN_USE = 0.9

/** No story comes to the end of a window, and a bucket gets nothing back within one. */
const WINDOW = '1d'

export interface Process {
  readonly rank: number
  readonly wire: Wire
  readonly client: Redis
  readonly store: RedisStore
  /** One for each algorithm. */
  readonly limiters: readonly RateLimiter[]
}

/** Units that one decision took. */
interface Taken {
  readonly decision: Decision
  readonly cost: number
}

export interface FleetOptions {
  /** Of the server. */
  readonly port: number
  readonly size: number
  readonly limit: number
  readonly store?: RedisStoreOptions | undefined
  /** By which each process decides alone; default: by its local quota. */
  readonly whenUnavailable?: PolicySettings | undefined
}

export class Fleet {
  readonly processes: readonly Process[]
  readonly limit: number
  readonly algorithms: readonly string[]
  /** Units that passed less those given back, by key, of each algorithm. */
  readonly #passed: Map<string, number[]> = new Map()

  constructor(processes: readonly Process[], limit: number, algorithms: readonly string[]) {
    this.processes = processes
    this.limit = limit
    this.algorithms = algorithms
  }

  /** One request to one algorithm of one process. */
  async take(process: Process, algorithm: number, key: string, cost = 1): Promise<Decision> {
    const decision = await limiterOf(process, algorithm).consume(key, { cost })
    if (decision.allowed) this.#add(key, algorithm, cost)
    return decision
  }

  /** Gives back what a decision took, whether Redis answers or not. */
  async refund(process: Process, algorithm: number, key: string, taken: Taken): Promise<void> {
    this.#add(key, algorithm, -taken.cost)
    await limiterOf(process, algorithm).refund(taken.decision)
  }

  /** Each process in turn asks all algorithms, with `times` requests at once. */
  async ask(processes: readonly Process[], key: string, times = 1): Promise<void> {
    for (const process of processes) {
      const asked = this.algorithms.flatMap((_, i) =>
        Array.from({ length: times }, () => this.take(process, i, key)),
      )
      await Promise.all(asked)
    }
  }

  /** All that one algorithm of one process admits. */
  async takeAll(process: Process, algorithm: number, key: string): Promise<void> {
    const { granted } = await limiterOf(process, algorithm).consumeUpTo(key, this.limit)
    this.#add(key, algorithm, granted)
    await Promise.all([this.take(process, algorithm, key), this.take(process, algorithm, key)])
  }

  /** Each process in turn takes all that it admits. */
  async exhaust(processes: readonly Process[], key: string): Promise<void> {
    for (const process of processes)
      await Promise.all(this.algorithms.map((_, i) => this.takeAll(process, i, key)))
  }

  /** All processes ask again and again. */
  async askFor(ms: number, keys: readonly string[]): Promise<void> {
    const until = performance.now() + ms
    while (performance.now() < until) {
      for (const key of keys) await this.ask(this.processes, key, 3)
      await sleep(100)
    }
  }

  /** One process asks one algorithm for many keys, a request for each. */
  async askOthers(process: Process, keys: number): Promise<void> {
    for (let from = 0; from < keys; from += 500) {
      const some = Array.from({ length: Math.min(500, keys - from) }, (_, i) => `other-${from + i}`)
      await Promise.all(some.map((key) => limiterOf(process, 0).consume(key)))
    }
  }

  passed(key: string): readonly number[] {
    return this.#passed.get(key) ?? this.algorithms.map(() => 0)
  }

  #add(key: string, algorithm: number, units: number): void {
    const passed = [...this.passed(key)]
    passed[algorithm] = (passed[algorithm] as number) + units
    this.#passed.set(key, passed)
  }
}

function limiterOf({ limiters }: Process, algorithm: number): RateLimiter {
  return limiters[algorithm] as RateLimiter
}

/**
 * What passed of a key, of the worst algorithm.
 * @param atLeast of each algorithm: one that denied everything would keep every bound
 */
export function passed(
  what: string,
  fleet: Fleet,
  key: string,
  most: number,
  atLeast: number = IN_USE * fleet.limit,
): Check[] {
  const units = fleet.passed(key)
  const worst = Math.max(...units)
  const least = Math.min(...units)
  const all = fleet.algorithms.map((name, i) => `${name} ${units[i]}`).join(', ')
  const ok = worst <= most
  const value = ok ? `${worst} <= ${most}` : `${worst} (${all})`
  return [
    { what, value, bound: `<= ${most}`, ok },
    routine({ ...countAtLeast(`${what}, in use`, least, atLeast), value: all }),
  ]
}

export async function openFleet(
  stage: Stage,
  { port, size, limit, store = {}, whenUnavailable }: FleetOptions,
): Promise<Fleet> {
  const policies = everyAlgorithm('day', limit, WINDOW)
  const processes = await Promise.all(
    Array.from({ length: size }, async (_, rank): Promise<Process> => {
      const wire = await stage.proxy(port)
      const client = new Redis(wire.port, '127.0.0.1', recommendedRedisOptions)
      client.on('error', () => {})
      const instances = { count: size, rank }
      const opened = redisStore(client, { instances, ...store, ...stage.changes.store })
      stage.onEnd(async () => {
        await opened.close()
        client.disconnect()
      })
      if (client.status !== 'ready') await once(client, 'ready')
      const limiters = policies.map((policy) => {
        const options = { name: policy.make, store: opened, policy: makePolicy(policy) }
        const alone = whenUnavailable && { whenUnavailable: makePolicy(whenUnavailable) }
        return new RateLimiter({ ...options, ...alone, shared: true })
      })
      return { rank, wire, client, store: opened, limiters }
    }),
  )
  const names = policies.map(({ make }) => make)
  const fleet = new Fleet(processes, limit, names)
  // The first requests of a process are slow: they load scripts, and code.
  await fleet.ask(processes, 'first', 2)
  return fleet
}

/** Cuts processes off; resolves when their clients know. */
export async function cut(processes: readonly Process[]): Promise<void> {
  await Promise.all(processes.map(({ wire }) => wire.set('refuse')))
  await waitUntil('clients to lose their connections', async () =>
    processes.every(({ client }) => client.status !== 'ready'),
  )
}

/** Lets processes reach Redis again; resolves when their clients can. */
export async function reconnect(processes: readonly Process[]): Promise<void> {
  await Promise.all(processes.map(({ wire }) => wire.set('pass')))
  await waitUntil('clients to connect', async () =>
    processes.every(({ client }) => client.status === 'ready'),
  )
}

/** The same; resolves when Redis decides for each of them. */
export async function bringBack(processes: readonly Process[]): Promise<void> {
  await reconnect(processes)
  await waitUntil('Redis to decide again', async () =>
    processes.every(({ store }) => store.health().state !== 'open'),
  )
}
