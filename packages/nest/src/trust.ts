// Which proxies the platform trusts for the client's address.

import { type Trust, trustsEverybody } from '@weir/core/http'
import type { NestRequest } from './options.js'

export function trustOf({ app, server }: NestRequest): Trust {
  const fastify = server?.initialConfig === undefined ? undefined : optionsOf(server)
  const trust = fastify ? fastify.trustProxy : app?.get?.('trust proxy')
  if (trust === true) return 'everybody'
  // Express turns any value into a function; Fastify is given one, or makes one that it does not
  // show.
  const trusts: unknown = fastify ? trust : trust && app.get('trust proxy fn')
  if (typeof trusts === 'function' && trustsEverybody(trusts as () => unknown)) return 'everybody'
  if (fastify && typeof trust === 'number' && trust > 0)
    return countsHops(server.version) ? 'listed' : 'inert'
  return trust ? 'listed' : 'nobody'
}

/** Fastify's options, the only place where it shows its trustProxy. */
function optionsOf(server: object): { readonly trustProxy?: unknown } {
  for (
    let holder: object | null = server;
    holder !== null;
    holder = Object.getPrototypeOf(holder)
  ) {
    const symbol = Object.getOwnPropertySymbols(holder).find(
      ({ description }) => description === 'fastify.options',
    )
    if (symbol) return (holder as Record<symbol, object>)[symbol] as object
  }
  return { trustProxy: [] }
}

/** Since Fastify 5.12.1, a number of proxies trusts nobody. */
function countsHops(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number.parseFloat)
  return major * 1e6 + minor * 1e3 + patch < 5_012_001
}
