import type { recommendedClusterOptions } from '@weir/core'
import { Cluster, Redis, type RedisOptions } from 'ioredis'

/** A client that is ready: connecting is not part of any figure. */
export async function connected(
  port: number,
  options: Omit<RedisOptions, 'replyMapping'> = {},
): Promise<Redis> {
  return ready(new Redis(port, '127.0.0.1', options))
}

/** The same of a Cluster, by the port of any of its nodes. */
export async function connectedToCluster(
  port: number,
  options: Partial<typeof recommendedClusterOptions> = {},
): Promise<Cluster> {
  return ready(new Cluster([{ host: '127.0.0.1', port }], options))
}

async function ready<Client extends Redis | Cluster>(client: Client): Promise<Client> {
  // A server that ends while its client is still hanging up resets the connection. What matters of
  // an error is seen by the requests that fail of it.
  client.on('error', () => {})
  if (client.status !== 'ready')
    await new Promise<void>((resolve) => client.once('ready', () => resolve()))
  return client
}
