// @ts-check
// Starts the example as a user does, sends six requests, and presses Ctrl-C.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'

test('the server allows five requests on PostgreSQL, refuses the sixth, and ends on Ctrl-C', async () => {
  const child = spawn(process.execPath, ['src/server.js'], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, DATABASE_URL: inject('postgresUrls').start, PORT: '0' },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  const exit = new Promise((resolve) => child.once('close', resolve))
  const url = await new Promise((resolve, reject) => {
    /** @param {Buffer} chunk */
    const read = (chunk) => {
      output += chunk
      const match = /http:\/\/127\.0\.0\.1:\d+/.exec(output)
      if (match) resolve(match[0])
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exit.then(() => reject(new Error(`ended before it printed its address:\n${output}`)))
  })
  // All at once, so that they are within one window even on a busy machine.
  const responses = await Promise.all(Array.from({ length: 6 }, () => fetch(url)))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429])
  child.kill('SIGINT')
  expect(await exit, output).toBe(0)
})
