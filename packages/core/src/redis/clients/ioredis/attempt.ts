// A client's attempts to connect.

import type { RedisLike } from './redis-like.js'

/** Statuses of a client that is about to connect, or is connecting: for the first time or again. */
const STARTING = ['wait', 'connecting', 'connect']
/** Events of a client at which an attempt has come to its end. */
const ENDS = ['ready', 'close', 'end']

/** By client: all stores on a client wait for one promise, which has the listeners of one. */
const attempts: WeakMap<RedisLike, Promise<void>> = new WeakMap()

/** The end of the attempt that is under way. Undefined: there is none, or the client does not say
 *  when one ends. */
export function attemptOf(client: RedisLike): Promise<void> | undefined {
  const hasEvents = typeof client.on === 'function' && typeof client.off === 'function'
  if (!hasEvents || !STARTING.includes(client.status as string)) return undefined
  const attempt =
    attempts.get(client) ??
    new Promise<void>((resolve) => {
      const end = (): void => {
        for (const event of ENDS) client.off?.(event, end)
        attempts.delete(client)
        resolve()
      }
      for (const event of ENDS) client.on?.(event, end)
    })
  attempts.set(client, attempt)
  return attempt
}
