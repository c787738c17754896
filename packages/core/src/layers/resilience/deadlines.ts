// Deadlines of calls: all of one length, so the first to start is the first to expire, and one timer serves them all.

/** Something that waits. */
export interface Timed {
  readonly startedMs: number
  /** It came to its end; nothing is to expire. */
  readonly done: boolean
  expire(): void
}

export interface Deadlines {
  add(item: Timed): void
  /** Expires all that is not done. */
  close(): void
}

/**
 * Expires what is not done `afterMs` after its start. An event loop that was held up is not a slow server: when the timer
 * fires, replies that have arrived meanwhile get their turn first.
 */
export function deadlines(afterMs: number): Deadlines {
  let queue: Timed[] = []
  let first = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function arm(): void {
    const item = queue[first]
    if (item === undefined || timer !== undefined) return
    timer = setTimeout(fired, Math.max(1, item.startedMs + afterMs - performance.now()))
    timer.unref?.()
  }

  // The poll phase, where replies are read, lies between a timer and an immediate. Twice, since one reading of a
  // socket may not be all of it.
  function fired(): void {
    setImmediate(() => setImmediate(judge))
  }

  function judge(): void {
    timer = undefined
    const latestStart = performance.now() - afterMs
    for (let item = queue[first]; item !== undefined; item = queue[first]) {
      if (!item.done) {
        if (item.startedMs > latestStart) break
        item.expire()
      }
      first += 1
    }
    if (first > 1_024 || first === queue.length) {
      queue = queue.slice(first)
      first = 0
    }
    arm()
  }

  return {
    add(item) {
      // At the end, but for a call that is a part of an earlier one.
      let at = queue.length
      while (at > first && (queue[at - 1] as Timed).startedMs > item.startedMs) at -= 1
      if (at === queue.length) queue.push(item)
      else queue.splice(at, 0, item)
      arm()
    },
    close() {
      clearTimeout(timer)
      timer = undefined
      const waiting = queue.slice(first)
      queue = []
      first = 0
      for (const item of waiting) if (!item.done) item.expire()
    },
  }
}
