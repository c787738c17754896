// @ts-check
import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { startRedis, waitUntil } from '@weir/testkit'
import { expect, onTestFinished, test } from 'vitest'

test('a limit that is changed on one server applies on the other', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const folder = join(import.meta.dirname, '..')
  const [one, two] = await Promise.all([
    startExample(folder, { REDIS_URL: redis.url }, 'src/live.js'),
    startExample(folder, { REDIS_URL: redis.url }, 'src/live.js'),
  ])
  onTestFinished(async () => {
    expect(await Promise.all([one.stop(), two.stop()])).toEqual([0, 0])
  })

  /** @param {string} customer @returns {Promise<{ limit: number, left: number }>} */
  async function ask(customer) {
    const response = await fetch(two.url, { headers: { 'X-Customer': customer } })
    return /** @type {any} */ (await response.json())
  }
  /** @param {string} path @param {number} limit */
  async function put(path, limit) {
    const policy = { algorithm: 'sliding-window', name: 'calls', limit, window: '1m' }
    const body = JSON.stringify(policy)
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(one.url + path, { method: 'PUT', headers, body })
    return /** @type {Promise<any>} */ (response.json())
  }

  expect(await ask('ann')).toEqual({ limit: 5, left: 4 })
  expect(await put('/plans/free', 50)).toMatchObject({ version: 1, isNewCounter: false })
  expect(await put('/customers/bob', 9)).toEqual({ version: 2 })
  let asked = 0
  await waitUntil('both changes hold', async () => {
    asked += 1
    return (await ask(`bob-${asked}`)).limit === 50 && (await ask('bob')).limit === 9
  })
  // What ann has used still counts.
  const { limit, left } = await ask('ann')
  expect(limit).toBe(50)
  expect(left).toBeLessThan(50)
  expect((await ask('pro-cy')).limit).toBe(20)
})
