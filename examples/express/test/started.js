// @ts-check
// Starts the example as a user does, and presses Ctrl-C.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * Waits until the example has printed everything that it prints at its start.
 * @param {Record<string, string>} [settings] environment variables
 */
export async function started(settings = {}) {
  const { REDIS_URL: _, ...env } = process.env
  const child = spawn(process.execPath, ['src/server.js'], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...env, PORT: '0', ...settings },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exit = new Promise((resolve) => child.once('close', resolve))
  let output = ''
  /** @type {RegExpExecArray} */
  const [, board = '', url = ''] = await new Promise((resolve, reject) => {
    /** @param {Buffer} chunk */
    const read = (chunk) => {
      output += chunk
      const printed = /Open the dashboard: +(\S+)\s.*?Press the button on: +(\S+)\/\s/s.exec(output)
      if (printed) resolve(printed)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exit.then((code) =>
      reject(new Error(`ended with ${code} before it printed its addresses:\n${output}`)),
    )
  })
  const stop = () => {
    child.kill('SIGINT')
    return exit
  }
  return { url, board, stop, output: () => output }
}
