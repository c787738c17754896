// Time as the dashboard needs it: a value, so that tests need not wait.

export interface Time {
  /** Ms since the Unix epoch. */
  nowMs(): number
  /** Ms on a clock that never goes back. */
  steadyMs(): number
  /** Calls back once, after `ms`. Returns what cancels it. */
  after(ms: number, action: () => void): () => void
  /** Calls back again and again. Returns what ends it. */
  every(ms: number, action: () => void): () => void
}

/** The time of this process. No timer keeps it alive. */
export const processTime: Time = {
  nowMs: () => Date.now(),
  steadyMs: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
  every(ms, action) {
    const timer = setInterval(action, ms)
    timer.unref()
    return () => clearInterval(timer)
  },
}
