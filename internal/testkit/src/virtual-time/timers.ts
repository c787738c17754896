// The timers of a process, and how many there are.

export interface Timers {
  /** Those that have neither ended nor been cancelled. */
  readonly count: number
  /** Calls back once, after `ms`, 1 at the least. Returns what cancels it. */
  after(ms: number, action: () => void): () => void
}

/** @param plan does something so many microseconds from now, and returns what cancels it */
export function timersOn(plan: (us: number, action: () => void) => () => void): Timers {
  let count = 0
  return {
    get count() {
      return count
    },
    after(ms, action) {
      // Node fires a longer timer after 1 ms.
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
