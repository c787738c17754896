import type { recommendedClusterOptions } from '@weir/core'
import { Cluster, Redis, type RedisOptions } from 'ioredis'

/** A client that is ready, since connecting is not part of any figure. */
export async function connected(
  port: number,
  options: Omit<RedisOptions, 'replyMapping'> = {},
): Promise<Redis> {
  return ready(new Redis(port, '127.0.0.1', options))
}

/** The same for a Cluster, by the port of any of its nodes. */
export async function connectedToCluster(
  port: number,
  options: Partial<typeof recommendedClusterOptions> = {},
): Promise<Cluster> {
  return ready(new Cluster([{ host: '127.0.0.1', port }], options))
}

async function ready<Client extends Redis | Cluster>(client: Client): Promise<Client> {
  // A server that ends while its client hangs up resets the connection. Errors that matter fail
  // requests.
  client.on('error', () => {})
  if (client.status !== 'ready')
    await new Promise<void>((resolve) => client.once('ready', () => resolve()))
  return client
}
