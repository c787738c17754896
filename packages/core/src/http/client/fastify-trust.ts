// Which proxies a Fastify app trusts for the client's address, for adapters over Fastify.

import { memoized } from '../../base/cache.js'
import type { Trust } from '../adapter.js'
import { trustsEverybody } from './warnings.js'

/** @param server the app, or one of its plugins */
export function fastifyTrust(server: { readonly version: string }): Trust {
  return trustOf(server)
}

/** Their options stay as they were made, and to find them takes as long as to decide a request. */
const trustOf = memoized((server: { readonly version: string }): Trust => {
  const trust = trustProxyOf(server)
  if (trust === true) return 'everybody'
  // Fastify makes a function of any other value, which it does not show.
  if (typeof trust === 'function')
    return trustsEverybody(trust as () => unknown) ? 'everybody' : 'listed'
  if (typeof trust === 'number' && trust > 0) return countsHops(server.version) ? 'listed' : 'inert'
  return trust ? 'listed' : 'nobody'
})

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
