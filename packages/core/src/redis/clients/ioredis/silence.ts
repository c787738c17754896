// Gives up a connection on which nothing has come for too long although a command was sent: a
// connection to a host that drops packets would last for many minutes. ioredis's `socketTimeout`
// does the same with a timer and a listener for each write, which costs a lone call a tenth of its
// time.

import { memoized } from '../../../base/cache.js'
import type { Time } from '../../../base/time.js'
import type { NodeConnection, Stream } from './sending.js'

/** The shortest silence after which a connection is given up. */
const SILENCE_MS = 1_000

/** How much had come on a connection when it was last checked. */
interface Heard {
  stream: Stream | undefined
  bytes: number | undefined
  /** When this number was first seen. */
  sinceMs: number
  lookAgainMs: number
}

/**
 * Checks a connection on which a command was sent, or is just being sent: by Weir or, on a new
 * connection, by the client itself. If nothing has come since an earlier check, the connection is
 * given up.
 * @param deadlineMs how long a reply may take
 */
export function silenceWatch(deadlineMs: number, time: Time): (to: NodeConnection) => void {
  const silenceMs = Math.max(SILENCE_MS, deadlineMs)
  const heardOn = memoized((_: NodeConnection): Heard => {
    return { stream: undefined, bytes: 0, sinceMs: 0, lookAgainMs: Number.NEGATIVE_INFINITY }
  })

  return (to) => {
    const nowMs = time.nowMs()
    const heard = heardOn(to)
    if (nowMs < heard.lookAgainMs) return
    heard.lookAgainMs = nowMs + silenceMs / 2
    const isSilent = (): boolean =>
      to.stream === heard.stream && to.stream?.bytesRead === heard.bytes
    if (!isSilent()) {
      heard.stream = to.stream
      heard.bytes = to.stream?.bytesRead
      heard.sinceMs = nowMs
      return
    }
    if (nowMs - heard.sinceMs < silenceMs) return
    // A blocked event loop is no silence: what has already arrived is read first.
    const giveUp = (): void => {
      const why = `Weir closed this connection: nothing has come for ${silenceMs} ms`
      if (isSilent()) to.stream?.destroy?.(new Error(why))
    }
    time.soon(() => time.soon(giveUp))
  }
}
