// A service of several processes, each with a client, a store, and a limiter for each algorithm.
// Two stores in one process behave as two processes, so all of them are in one process; each has
// its own proxy, which can cut it off alone. Stories proceed step by step, so what passes is known
// exactly.

import { setTimeout as sleep } from 'node:timers/promises'
import { RateLimiter, type RedisStore, type RedisStoreOptions, redisStore } from '@weir/core'
import { algorithms } from '@weir/core/testing'
import { waitUntil } from '@weir/testkit'
import { type Check, countAtLeast, routine } from './checks.js'
import type { PolicySettings } from './client/protocol.js'
import { makePolicy } from './client/target.js'
import { openClient, type UserClient } from './client/user-client.js'
import type { Stage, Wire } from './stage.js'

/** The least part of a limit that must pass. */
const IN_USE = 0.9

/** No story reaches the end of a window, and no bucket gets a unit back in a story. */
const WINDOW = '1d'

export interface Process {
  readonly rank: number
  readonly wire: Wire
  readonly client: UserClient
  readonly store: RedisStore
  /** One limiter for each algorithm. */
  readonly limiters: readonly RateLimiter[]
}

export interface FleetOptions {
  /** The port of the server. */
  readonly port: number
  readonly size: number
  readonly limit: number
  readonly store?: RedisStoreOptions | undefined
}

export class Fleet {
  readonly processes: readonly Process[]
  readonly limit: number
  readonly algorithms: readonly string[]
  /** The units that passed, less those given back, by key, for each algorithm. */
  readonly #passed: Map<string, number[]> = new Map()

  constructor(processes: readonly Process[], limit: number, algorithms: readonly string[]) {
    this.processes = processes
    this.limit = limit
    this.algorithms = algorithms
  }

  /** Sends one request to one process, for one algorithm. */
  async take(process: Process, algorithm: number, key: string, cost = 1): Promise<void> {
    const { allowed } = await limiterOf(process, algorithm).consume(key, { cost })
    if (allowed) this.#add(key, algorithm, cost)
  }

  /** Each process in turn sends `times` requests at once, for all algorithms. */
  async ask(processes: readonly Process[], key: string, times = 1): Promise<void> {
    for (const process of processes) {
      const asked = this.algorithms.flatMap((_, i) =>
        Array.from({ length: times }, () => this.take(process, i, key)),
      )
      await Promise.all(asked)
    }
  }

  /** Takes everything that one process admits, for one algorithm. */
  async takeAll(process: Process, algorithm: number, key: string): Promise<void> {
    const { granted } = await limiterOf(process, algorithm).consumeUpTo(key, this.limit)
    this.#add(key, algorithm, granted)
    await Promise.all([this.take(process, algorithm, key), this.take(process, algorithm, key)])
  }

  /** Each process in turn takes everything that it admits. */
  async exhaust(processes: readonly Process[], key: string): Promise<void> {
    for (const process of processes)
      await Promise.all(this.algorithms.map((_, i) => this.takeAll(process, i, key)))
  }

  /** All processes send requests again and again. */
  async askFor(ms: number, keys: readonly string[]): Promise<void> {
    const until = performance.now() + ms
    while (performance.now() < until) {
      for (const key of keys) await this.ask(this.processes, key, 3)
      await sleep(100)
    }
  }

  /** One process sends a request for each of many keys, for one algorithm. */
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
 * What passed under a key, by the worst algorithm. For each there is a least, since one that denied
 * everything would keep every bound.
 */
export function passed(what: string, fleet: Fleet, key: string, most: number): Check[] {
  const units = fleet.passed(key)
  const worst = Math.max(...units)
  const least = Math.min(...units)
  const all = fleet.algorithms.map((name, i) => `${name} ${units[i]}`).join(', ')
  const ok = worst <= most
  const value = ok ? `${worst} <= ${most}` : `${worst} (${all})`
  return [
    { what, value, bound: `<= ${most}`, ok },
    routine({ ...countAtLeast(`${what}, in use`, least, IN_USE * fleet.limit), value: all }),
  ]
}

/** Policies of all algorithms that let `limit` pass at once, and as many again in a window. */
function everyAlgorithm(limit: number): PolicySettings[] {
  return Object.values(algorithms)
    .filter(({ api }) => api.consume === 'takes 3')
    .flatMap(({ policies }) => Object.entries(policies))
    .map(([make, { of }]) => ({ make, options: { ...of(limit, WINDOW, 'day').options } }))
}

export async function openFleet(
  stage: Stage,
  { port, size, limit, store = {} }: FleetOptions,
): Promise<Fleet> {
  const policies = everyAlgorithm(limit)
  const processes = await Promise.all(
    Array.from({ length: size }, async (_, rank): Promise<Process> => {
      const wire = await stage.proxy(port)
      const to = { port: wire.port }
      const client = await openClient({ client: 'recommended', ...stage.changes, to })
      client.events.on('error', () => {})
      const instances = { count: size, rank }
      const opened = redisStore(client.given, { instances, ...store, ...stage.changes.store })
      stage.onEnd(async () => {
        await opened.close()
        client.close()
      })
      await client.ready()
      const limiters = policies.map((policy) => {
        const options = { name: policy.make, store: opened, policy: makePolicy(policy) }
        return new RateLimiter({ ...options, shared: true })
      })
      return { rank, wire, client, store: opened, limiters }
    }),
  )
  const names = policies.map(({ make }) => make)
  const fleet = new Fleet(processes, limit, names)
  // The first requests of a process are slow, since they load scripts and code.
  await fleet.ask(processes, 'first', 2)
  return fleet
}

/** Cuts processes off. Resolves when their clients have noticed. */
export async function cut(processes: readonly Process[]): Promise<void> {
  await Promise.all(processes.map(({ wire }) => wire.set('refuse')))
  await untilReady(processes, false)
}

function untilReady(processes: readonly Process[], wanted: boolean): Promise<void> {
  return waitUntil(`clients to be ready: ${wanted}`, async () => {
    const are = await Promise.all(processes.map(({ client }) => client.isReady()))
    return are.every((isReady) => isReady === wanted)
  })
}

/** Lets processes reach Redis again. Resolves when their clients can. */
export async function reconnect(processes: readonly Process[]): Promise<void> {
  await Promise.all(processes.map(({ wire }) => wire.set('pass')))
  await untilReady(processes, true)
}

/** The same. Resolves when Redis decides for each of them. */
export async function bringBack(processes: readonly Process[]): Promise<void> {
  await reconnect(processes)
  await waitUntil('Redis to decide again', async () =>
    processes.every(({ store }) => store.health().state !== 'open'),
  )
}
