// What a user has: a client of his own, and a store and a limiter on it.
import * as weir from '@weir/core'
import { Cluster, Redis } from 'ioredis'
import type { Address, Job, PolicySettings } from './protocol.js'

export interface Target {
  readonly client: Redis | Cluster
  readonly limiter: weir.RateLimiter
  readonly store: weir.RedisStore
  /** Events of the client that Weir still listens to. */
  leftListeners(): readonly string[]
}

export function openTarget(job: Job): Target {
  const client = openClient(job.to, job.client)
  const leftListeners = watchListeners(client)
  if (job.failFirst !== undefined) failFirst(client, job.failFirst)
  const store = weir.redisStore(client, job.store)
  const limiter = new weir.RateLimiter({
    name: 'faults',
    store,
    policy: [
      makePolicy(job.policy),
      ...(job.also ? [{ policy: makePolicy(job.also.policy), key: job.also.key }] : []),
    ],
    shared: true,
  })
  return {
    client,
    limiter,
    store,
    leftListeners,
  }
}

/** A limiter without Redis. */
export function memoryLimiter(policy: PolicySettings): weir.RateLimiter {
  return new weir.RateLimiter({
    name: 'memory',
    store: weir.memoryStore(),
    policy: makePolicy(policy),
  })
}

function openClient(to: Address, kind: Job['client']): Redis | Cluster {
  const options = kind === 'plain' ? {} : weir.recommendedRedisOptions
  if ('port' in to) return new Redis(to.port, '127.0.0.1', options)
  if ('sentinels' in to) {
    const sentinels = to.sentinels.map((port) => ({ host: '127.0.0.1', port }))
    return new Redis({ sentinels, name: to.name, ...options })
  }
  const nodes = to.cluster.map((port) => ({ host: '127.0.0.1', port }))
  return new Cluster(nodes, kind === 'plain' ? {} : weir.recommendedClusterOptions)
}

export function makePolicy({ make, options }: PolicySettings): weir.Policy {
  const makers = weir as unknown as Record<string, ((options: object) => weir.Policy) | undefined>
  const maker = makers[make]
  if (maker === undefined) throw new Error(`@weir/core has no policy ${make}`)
  return maker(options)
}

/** As a reply that is lost once: the command is refused before it is sent. */
function failFirst(client: Redis | Cluster, command: string): void {
  const through = client.callBuffer.bind(client) as (
    name: string,
    args: string[],
  ) => Promise<unknown>
  let failed = false
  const wrapped = (name: string, args: string[]): Promise<unknown> => {
    if (failed || name !== command) return through(name, args)
    failed = true
    return Promise.reject(new Error('Connection is closed.'))
  }
  Object.assign(client, { callBuffer: wrapped })
}

/**
 * Tells which of the listeners that Weir adds to the client from now on are still there. ioredis
 * has its own, too.
 */
function watchListeners(client: Redis | Cluster): () => readonly string[] {
  const added: { readonly name: string; readonly listener: (...args: unknown[]) => void }[] = []
  client.on('newListener', (name: string, listener: (...args: unknown[]) => void) => {
    if (new Error().stack?.includes(WEIR)) added.push({ name, listener })
  })
  return () => {
    return added
      .filter(({ name, listener }) => client.listeners(name).includes(listener))
      .map(({ name }) => name)
  }
}

/** Where Weir's modules are, as stack traces tell it. */
const WEIR = new URL('.', import.meta.resolve('@weir/core')).href

/** Resolves when the client can be used. */
export function ready(client: Redis | Cluster): Promise<void> {
  if (client.status === 'ready') return Promise.resolve()
  return new Promise((resolve) => client.once('ready', () => resolve()))
}
