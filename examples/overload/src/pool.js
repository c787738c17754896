// @ts-check
// A pool of connections, each of which serves one call at a time: what a real server runs out of.

/**
 * @param {number} workers
 * @param {() => number} meanMs of a call, in ms
 * @returns {() => Promise<void>} waits for a free worker, and holds it as long as a call takes
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
