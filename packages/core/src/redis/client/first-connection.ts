// The client's first connection is waited for: without that, each start of an app would begin with
// decisions that Redis knows nothing of.

import type { Time } from '../../base/time.js'
import { storeFailure, withDeadline } from '../../layers/resilience/failures.js'
import type { RedisLike } from './client.js'

export interface FirstConnection {
  /**
   * While the client makes its first connection: resolves when it can send, rejects with a
   * StoreError when the attempt has failed or was given up. Undefined afterwards. To be asked only
   * while the client is not ready: the first time begins the wait, and lets a lazy client connect.
   */
  pending(): Promise<void> | undefined
  close(): void
}

/** Statuses of a client that has not failed to connect yet. */
const STARTING = ['wait', 'connecting', 'connect']
/** Events of a client at which an attempt has come to its end. */
const ENDS = ['ready', 'close', 'end']

/**
 * By client, the end of its first attempt: all stores on a client wait for one, and it has the
 * listeners of one.
 */
const attempts: WeakMap<RedisLike, Promise<void>> = new WeakMap()

function attemptOf(client: RedisLike): Promise<void> {
  let attempt = attempts.get(client)
  if (attempt === undefined) {
    attempt = new Promise((resolve) => {
      const end = (): void => {
        for (const event of ENDS) client.off?.(event, end)
        attempts.delete(client)
        resolve()
      }
      for (const event of ENDS) client.on?.(event, end)
    })
    attempts.set(client, attempt)
  }
  return attempt
}

/** @param deadlineMs how long to wait, from the first call of `pending` on */
export function firstConnection(
  client: RedisLike,
  deadlineMs: number,
  time: Time,
): FirstConnection {
  let pending: Promise<void> | undefined
  let isOver = typeof client.on !== 'function' || typeof client.off !== 'function'
  let giveUp: (() => void) | undefined

  async function wait(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      giveUp = resolve
    })
    try {
      await withDeadline(Promise.race([attemptOf(client), closed]), deadlineMs, time)
    } catch {
      // The status of the client, below, tells what happened.
    } finally {
      isOver = true
      pending = undefined
    }
    if (client.status !== 'ready')
      throw storeFailure(new Error(`the client is ${client.status}`), 'Redis')
  }

  return {
    pending() {
      const { status } = client
      if (status === 'wait') client.connect?.().catch(() => {})
      if (isOver || pending !== undefined) return pending
      if (!STARTING.includes(status as string)) {
        isOver = true
        return undefined
      }
      pending = wait()
      pending.catch(() => {})
      return pending
    },
    close() {
      isOver = true
      giveUp?.()
    },
  }
}
