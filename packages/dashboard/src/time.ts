// The clock and timers that the dashboard uses: a value, so that tests need not wait.

export interface Time {
  /** Ms since the Unix epoch. */
  nowMs(): number
  /** Ms on a clock that never goes back. */
  steadyMs(): number
  /** Calls back once, after `ms`. Returns a function that cancels the call. */
  after(ms: number, action: () => void): () => void
  /** Calls back every `ms`. Returns a function that ends the calls. */
  every(ms: number, action: () => void): () => void
}

/** This process's time. Its timers do not keep the process alive. */
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
