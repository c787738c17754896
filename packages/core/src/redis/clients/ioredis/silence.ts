// Gives up a connection on which nothing has come for too long, though something was asked: to a
// host that drops packets it would last for many minutes. ioredis's `socketTimeout` does the same
// with a timer and a listener for each write, which costs a lone call a tenth of its time.

import { memoized } from '../../../base/cache.js'
import type { Time } from '../../../base/time.js'
import type { NodeConnection, Stream } from './sending.js'

/** The shortest silence after which a connection is given up. */
const SILENCE_MS = 1_000

/** How much had come on a connection when it was looked at. */
interface Heard {
  stream: Stream | undefined
  bytes: number | undefined
  /** When this number was first seen. */
  sinceMs: number
  lookAgainMs: number
}

/**
 * Looks at a connection on which something was asked, or is just now: by Weir, or by the client
 * itself where it is new. If nothing has come since an earlier look, it is given up.
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
    // An event loop that was held up is no silence: what is there already is read first.
    const giveUp = (): void => {
      const why = `Weir closed this connection: nothing has come for ${silenceMs} ms`
      if (isSilent()) to.stream?.destroy?.(new Error(why))
    }
    time.soon(() => time.soon(giveUp))
  }
}
