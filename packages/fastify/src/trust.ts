// Which proxies a Fastify app trusts for the client's address.

import { type Trust, trustsEverybody } from '@weir/core/http'
import type { FastifyInstance } from 'fastify'

export function trustOf(server: FastifyInstance): Trust {
  const trust = trustProxyOf(server)
  if (trust === true) return 'everybody'
  if (typeof trust === 'function')
    return trustsEverybody(trust as () => unknown) ? 'everybody' : 'listed'
  if (typeof trust === 'number' && trust > 0) return countsHops(server.version) ? 'listed' : 'inert'
  return trust ? 'listed' : 'nobody'
}

/** Only its options show an app's `trustProxy`. Apps inherit them from the app around them. */
function trustProxyOf(server: object): unknown {
  for (let app: object | null = server; app !== null; app = Object.getPrototypeOf(app)) {
    const symbol = Object.getOwnPropertySymbols(app).find(
      ({ description }) => description === 'fastify.options',
    )
    if (symbol) return (app as Record<symbol, { trustProxy?: unknown }>)[symbol]?.trustProxy
  }
  // Something may be set.
  return []
}

/** Since Fastify 5.12.1, an app with a number as `trustProxy` trusts nobody. */
function countsHops(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number.parseFloat)
  return major * 1e6 + minor * 1e3 + patch < 5_012_001
}
