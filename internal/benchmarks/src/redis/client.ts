import { Redis, type RedisOptions } from 'ioredis'

/** A client that is ready, since connecting is not part of any figure. */
export async function connected(
  port: number,
  options: Omit<RedisOptions, 'replyMapping'> = {},
): Promise<Redis> {
  const client = new Redis(port, '127.0.0.1', options)
  // A server that ends while its client hangs up resets the connection. Errors that matter fail
  // requests.
  client.on('error', () => {})
  if (client.status !== 'ready')
    await new Promise<void>((resolve) => client.once('ready', () => resolve()))
  return client
}
