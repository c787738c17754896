// The client's first connection is waited for: without that, each start of an app would begin with
// decisions that Redis knows nothing of.

import { storeFailure, withDeadline } from './failures.js'
import type { RedisLike } from './redis-call.js'

export interface FirstConnection {
  /**
   * While the client makes its first connection: resolves when it can send, rejects with a StoreError
   * when the attempt has failed or was given up. Undefined afterwards. To be asked only while the
   * client is not ready: the first time begins the wait, and lets a lazy client connect.
   */
  pending(): Promise<void> | undefined
  close(): void
}

/** Statuses of a client that has not failed to connect yet. */
const STARTING = ['wait', 'connecting', 'connect']
/** Events of a client at which an attempt has come to its end. */
const ENDS = ['ready', 'close', 'end']

/** @param deadlineMs how long is waited, from the first question on */
export function firstConnection(client: RedisLike, deadlineMs: number): FirstConnection {
  let pending: Promise<void> | undefined
  let isOver = typeof client.on !== 'function' || typeof client.off !== 'function'
  let end: (() => void) | undefined

  async function attempt(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    for (const event of ENDS) client.on?.(event, end as () => void)
    try {
      await withDeadline(ended, deadlineMs)
    } catch {
      // The client says below how far it has come.
    } finally {
      isOver = true
      pending = undefined
      for (const event of ENDS) client.off?.(event, end as () => void)
    }
    if (client.status !== 'ready') throw storeFailure(new Error(`the client is ${client.status}`))
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
      pending = attempt()
      pending.catch(() => {})
      return pending
    },
    close() {
      isOver = true
      end?.()
    },
  }
}
