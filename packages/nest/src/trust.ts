// Which proxies the platform trusts for the client's address.

import { fastifyTrust, type Trust, trustsEverybody } from '@weir/core/http'
import type { NestRequest } from './options.js'

export function trustOf({ app, server }: NestRequest): Trust {
  if (server?.initialConfig !== undefined) return fastifyTrust(server)
  const trust = app?.get?.('trust proxy')
  if (trust === true) return 'everybody'
  // Express turns any value into a function.
  const trusts: unknown = trust && app?.get('trust proxy fn')
  if (typeof trusts === 'function' && trustsEverybody(trusts as () => unknown)) return 'everybody'
  return trust ? 'listed' : 'nobody'
}
