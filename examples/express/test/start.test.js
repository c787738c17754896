// @ts-check
// Starts the example as a user does, sends a request to the address that it prints, and presses
// Ctrl-C.
import { startRedis } from '@weir/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { started } from './started.js'

test('the example serves from memory, and ends on Ctrl-C', async () => {
  await startAndStop({})
})

test('the example serves on Redis, and ends on Ctrl-C', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  await startAndStop({ REDIS_URL: redis.url })
  expect(await redis.command('DBSIZE')).toBeGreaterThan(0)
})

/** @param {Record<string, string>} settings */
async function startAndStop(settings) {
  const { url, output, stop } = await started(settings)
  const response = await fetch(`${url}/hello`)
  expect(await response.json()).toEqual({ hello: 'world', left: 4 })
  const metrics = await (await fetch(`${url}/metrics`)).text()
  expect(metrics).toContain('weir_limiter_enabled{limiter="hello"} 1')
  expect(await stop(), output()).toBe(0)
}
