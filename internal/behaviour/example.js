// @ts-check
// For the tests of the examples: starts one as a user does, and presses Ctrl-C.

import { spawn } from 'node:child_process'

/** `stop` resolves to the exit code, and prints the output if that is not 0; `kill` leaves the
 *  process no time to do anything.
 *  @typedef {object} Started
 *  @property {string} url
 *  @property {() => string} output what it has printed
 *  @property {() => Promise<number | null>} stop
 *  @property {() => Promise<void>} kill */

/**
 * Starts a server of an example, and waits for the address that it prints.
 * @param {string} folder
 * @param {Record<string, string>} [settings] environment variables
 * @param {string} [file]
 * @returns {Promise<Started>}
 */
export async function startExample(folder, settings = {}, file = 'src/server.js') {
  const env = { ...process.env, PORT: '0', ...settings }
  const child = spawn(process.execPath, [file], { cwd: folder, env })
  /** @type {Promise<number | null>} */
  const exit = new Promise((resolve) => child.once('close', resolve))
  let output = ''
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    /** @param {Buffer} chunk */
    const read = (chunk) => {
      output += chunk
      const match = /http:\/\/127\.0\.0\.1:\d+/.exec(output)
      if (match) resolve(match[0])
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exit.then((code) =>
      reject(new Error(`ended with ${code} before it printed its address:\n${output}`)),
    )
  })
  const stop = async () => {
    child.kill('SIGINT')
    const late = setTimeout(() => child.kill('SIGKILL'), 100_000)
    const code = await exit
    clearTimeout(late)
    if (code !== 0) console.error(output)
    return code
  }
  const kill = async () => {
    child.kill('SIGKILL')
    await exit
  }
  return { url, output: () => output, stop, kill }
}
