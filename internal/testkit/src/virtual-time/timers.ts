// The timers of a process, and their number.

export interface Timers {
  /** The timers that have neither fired nor been cancelled. */
  readonly count: number
  /** Calls back once after `ms`, at least 1. Returns a function that cancels the timer. */
  after(ms: number, action: () => void): () => void
}

/** @param plan plans an action this many microseconds from now; returns a function that cancels
 *  it */
export function timersOn(plan: (us: number, action: () => void) => () => void): Timers {
  let count = 0
  return {
    get count() {
      return count
    },
    after(ms, action) {
      // Node would fire a longer timer after 1 ms.
      if (!(ms < 2 ** 31)) throw new RangeError(`a timer of ${ms} ms`)
      count += 1
      let isOver = false
      const end = (): void => {
        if (!isOver) count -= 1
        isOver = true
      }
      const cancel = plan(Math.max(1, ms) * 1_000, () => {
        if (isOver) return
        end()
        action()
      })
      return () => {
        end()
        cancel()
      }
    },
  }
}
