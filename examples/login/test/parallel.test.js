// @ts-check
// Attempts at the same time: all of them are decided before the first password is checked.

import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { memoryStore, recommendedRedisOptions, redisStore } from '@weir/express'
import { startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startApp } from './clients.js'

const ANN = 'ann@example.org'

/** @param {string} kind */
async function storeOf(kind) {
  if (kind === 'memory') return memoryStore()
  const server = await startRedis()
  const client = new Redis(server.url, { ...recommendedRedisOptions, connectTimeout: 5_000 })
  client.on('error', () => {})
  await once(client, 'ready')
  // All decisions must come from Redis, however busy the machine is.
  const store = redisStore(client, { whenUnavailable: 'throw', deadlineMs: 20_000 })
  onTestFinished(async () => {
    // The refunds of the last responses are sent in one of the next turns of the event loop.
    for (let i = 0; i < 5; i += 1) await setImmediate()
    await client.ping()
    await store.close()
    client.disconnect()
    await server.stop()
  })
  return store
}

/** The app, and a browser from which its owner has logged in. @param {string} kind */
async function start(kind) {
  /** @type {() => void} */
  let open = () => {}
  /** @type {Promise<void>} */
  let gate = Promise.resolve()
  const app = await startApp(await storeOf(kind), () => gate)
  const home = app.client('198.51.100.1')
  expect((await home.logIn(ANN, 'right')).status).toBe(200)

  /** Sends this many requests at once, and counts the statuses of the responses.
   *  @param {number} count @param {string} password @param {string} address
   *  @param {string} [cookie] */
  async function atOnce(count, password, address, cookie) {
    gate = new Promise((resolve) => {
      open = resolve
    })
    /** @type {Record<number, number>} */
    const statuses = {}
    const answers = Array.from({ length: count }, async () => {
      const { status } = await app.client(address, cookie).logIn(ANN, password)
      statuses[status] = (statuses[status] ?? 0) + 1
    })
    await vi.waitFor(() => {
      expect((statuses[429] ?? 0) + app.checks.underWay).toBe(count)
    })
    open()
    await Promise.all(answers)
    return statuses
  }
  return { ...app, atOnce, home }
}

describe.each(['memory', 'Redis'])('%s', (kind) => {
  test('of twelve correct logins at once from a known device, five pass, and the others pass when sent again', async () => {
    const { atOnce, home } = await start(kind)
    const statuses = await atOnce(12, 'right', '198.51.100.1', home.cookie)
    expect(statuses).toEqual({ 200: 5, 429: 7 })
    // A refund may still be on its way.
    const again = async () => (await home.logIn(ANN, 'right')).status
    await expect.poll(again).toBe(200)
  })

  test('of 64 guesses at once from a known device, five reach the password, and then the device is blocked', async () => {
    const { atOnce, home, guesses } = await start(kind)
    expect(await atOnce(64, 'guess', '198.51.100.1', home.cookie)).toEqual({ 401: 5, 429: 59 })
    expect(guesses).toHaveLength(5)
    const answer = await home.logIn(ANN, 'right')
    expect(answer).toMatchObject({ status: 429, body: { mail: '/login/mail' } })
    expect(Number(answer.retryAfter)).toBeLessThanOrEqual(60)
  })

  test('of twelve correct logins at once from an unknown address, ten pass, and two are asked for a challenge', async () => {
    const { atOnce } = await start(kind)
    expect(await atOnce(12, 'right', '203.0.0.7')).toEqual({ 200: 10, 429: 2 })
  })
})
