// Clients of Valkey GLIDE, ready for use.

import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide'
import { recommendedGlideOptions } from '@weir/core/glide'

// Otherwise GLIDE prints the errors of connections.
Logger.setLoggerConfig('off')

/** For a busy machine. */
const PATIENT = {
  ...recommendedGlideOptions,
  requestTimeout: 20_000,
  advancedConfiguration: { connectionTimeout: 5_000 },
}

const addressesOf = (ports: readonly number[]) => {
  return ports.map((port) => ({ host: '127.0.0.1', port }))
}

export function glideClient(port: number, options: object = {}): Promise<GlideClient> {
  return GlideClient.createClient({ ...PATIENT, addresses: addressesOf([port]), ...options })
}

export function glideCluster(
  ports: readonly number[],
  options: object = {},
): Promise<GlideClusterClient> {
  return GlideClusterClient.createClient({ ...PATIENT, addresses: addressesOf(ports), ...options })
}
