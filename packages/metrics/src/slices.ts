// Work in steps, so that an application still answers requests while hundreds of limiters are read.

/** Yields about how many points each of its steps has read or written. */
export type Work<Result> = Generator<number, Result, void>

/** Points in one turn of the event loop: about a millisecond. */
export const POINTS_OF_TURN = 500

/** Does all work in one turn of the event loop. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Does the work over several turns of the event loop, so that other work runs in between. */
export async function inTurns<Result>(work: Work<Result>): Promise<Result> {
  let points = 0
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    points += value
    if (points < POINTS_OF_TURN) continue
    points = 0
    await new Promise(setImmediate)
  }
}
