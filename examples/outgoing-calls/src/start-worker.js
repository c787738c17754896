// @ts-check
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/**
 * Starts a worker, and waits until it has reached Redis.
 * @param {string} redisUrl
 */
export async function startWorker(redisUrl) {
  const child = fork(join(import.meta.dirname, 'worker.js'), {
    env: { ...process.env, REDIS_URL: redisUrl },
  })
  await once(child, 'message')
  return {
    child,
    /** @param {import('./worker.js').Work} work @returns {Promise<import('./worker.js').Report>} */
    async work(work) {
      child.send(work)
      const [report] = await once(child, 'message')
      return report
    },
    async stop() {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}
