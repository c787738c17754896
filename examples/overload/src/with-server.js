// @ts-check
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/**
 * Starts a server in its own process, calls `use` with its port, and ends it.
 * @template Result
 * @param {{ workers: number, meanMs: number, protection: string }} options
 * @param {(port: number) => Promise<Result>} use
 * @returns {Promise<Result>}
 */
export async function withServer({ workers, meanMs, protection }, use) {
  const args = [String(workers), String(meanMs), protection]
  const child = fork(join(import.meta.dirname, 'server.js'), args)
  const [{ port }] = await once(child, 'message')
  try {
    return await use(port)
  } finally {
    const exit = once(child, 'exit')
    child.disconnect()
    await exit
  }
}
