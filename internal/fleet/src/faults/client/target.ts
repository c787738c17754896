// The user's objects: a client, and a store and a limiter on it.

import type { EventEmitter } from 'node:events'
import * as weir from '@weir/core'
import type { Job, PolicySettings } from './protocol.js'
import { openClient, type UserClient } from './user-client.js'

export interface Target {
  readonly client: UserClient
  readonly limiter: weir.RateLimiter
  readonly store: weir.RedisStore
  /** Events of the client that Weir still listens to. */
  leftListeners(): readonly string[]
}

export async function openTarget(job: Job): Promise<Target> {
  const client = await openClient(job)
  const leftListeners = watchListeners(client.events)
  const store = weir.redisStore(client.given, job.store)
  const limiter = new weir.RateLimiter({
    name: 'faults',
    store,
    policy: makePolicy(job.policy),
    shared: true,
  })
  return {
    client,
    limiter,
    store,
    leftListeners,
  }
}

export function makePolicy({ make, options }: PolicySettings): weir.Policy {
  const makers = weir as unknown as Record<string, ((options: object) => weir.Policy) | undefined>
  const maker = makers[make]
  if (maker === undefined) throw new Error(`@weir/core has no policy ${make}`)
  return maker(options)
}

/**
 * Reports which of the listeners that Weir adds to the client from now on are still there.
 * Libraries add their own as well.
 */
function watchListeners(client: EventEmitter): () => readonly string[] {
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

/** The place of Weir's modules, as in stack traces. */
const WEIR = new URL('.', import.meta.resolve('@weir/core')).href
