// @ts-check
// What a server really has too few of: connections of a pool, each of which serves one at a time.

/**
 * @param {number} workers
 * @param {() => number} meanMs of a call, in ms
 * @returns {() => Promise<void>} takes a worker, once one is free, for as long as a call takes
 */
export function pool(workers, meanMs) {
  let free = workers
  /** @type {(() => void)[]} */
  const waiting = []
  return async () => {
    if (free > 0) free -= 1
    else await new Promise((turn) => waiting.push(() => turn(undefined)))
    await new Promise((end) => setTimeout(end, -Math.log(1 - Math.random()) * meanMs()))
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }
}
