// Clients of Valkey GLIDE.

import { EventEmitter } from 'node:events'
import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide'
import { fromGlide, recommendedGlideOptions } from '@weir/core/glide'
import { HOST, type Open } from '../user-client.js'

// Otherwise GLIDE prints the errors of connections.
Logger.setLoggerConfig('off')

const OPTIONS = {
  recommended: recommendedGlideOptions,
  patient: {
    ...recommendedGlideOptions,
    requestTimeout: 20_000,
    advancedConfiguration: { connectionTimeout: 5_000 },
  },
  // Otherwise the client could not be made before its server is there.
  plain: { lazyConnect: true },
}

export const open: Open = async (to, how) => {
  if ('sentinels' in to) throw new Error('GLIDE has no Sentinels')
  const ports = 'port' in to ? [to.port] : to.cluster
  const addresses = ports.map((port) => ({ host: HOST, port }))
  const kind = 'port' in to ? GlideClient : GlideClusterClient
  const client = await kind.createClient({ ...OPTIONS[how], addresses })
  return {
    given: fromGlide(client),
    // The client has no events.
    events: new EventEmitter(),
    ready: async () => {
      await client.ping()
    },
    isReady: () =>
      client.ping().then(
        () => true,
        () => false,
      ),
    incr: (key) => client.incr(key),
    close: () => client.close(),
  }
}
