// @ts-check
// Starts the example as a user does, requests it once at the address that it prints, and presses
// Ctrl-C.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { startRedis } from '@weir/testkit'
import { expect, onTestFinished, test } from 'vitest'

test('serves from memory and ends on Ctrl-C', async () => {
  await startAndStop({})
}, 20_000)

test('serves on Redis and ends on Ctrl-C', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  await startAndStop({ REDIS_URL: redis.url })
  expect(await redis.command('DBSIZE')).toBeGreaterThan(0)
}, 20_000)

/** @param {Record<string, string>} settings */
async function startAndStop(settings) {
  const { REDIS_URL: _, ...env } = process.env
  const child = spawn(process.execPath, ['src/server.js'], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...env, PORT: '0', ...settings },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exit = new Promise((resolve) => child.once('close', resolve))
  let output = ''
  const url = await new Promise((resolve, reject) => {
    /** @param {Buffer} chunk */
    const read = (chunk) => {
      output += chunk
      const match = /http:\/\/(?:localhost|127\.0\.0\.1):\d+/.exec(output)
      if (match) resolve(match[0])
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void exit.then((code) =>
      reject(new Error(`ended with ${code} before it printed its address:\n${output}`)),
    )
  })
  const response = await fetch(url)
  expect(response.status).toBeLessThan(500)
  await response.text()
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(metrics).toContain('weir_limiter_enabled{limiter="hello"} 1')
  child.kill('SIGINT')
  expect(await exit, output).toBe(0)
}
