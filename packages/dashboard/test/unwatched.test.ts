// While nobody watches, the dashboard costs nothing.

import { channel } from 'node:diagnostics_channel'
import { fixedWindow, RateLimiter } from '@weir/core'
import { waitUntil } from '@weir/testkit'
import { afterEach, expect, test } from 'vitest'
import { enter, frames } from './client.js'
import { fakeTime } from './fake-time.js'
import { plain } from './servers.js'

const decisions = channel('weir:decision')
const policy = fixedWindow({ name: 'hourly', limit: 10, window: '1h' })
const open: { close(): unknown }[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

test('there is no timer and no subscription before, between and after viewers', async () => {
  const time = fakeTime()
  const limiter = new RateLimiter({ name: 'unwatched', policy })
  const running = await plain.start({ limiters: [limiter] }, time)
  open.push(limiter, running)
  const isIdle = (): boolean => time.timers === 0 && !decisions.hasSubscribers
  expect(isIdle()).toBe(true)

  const entered = await enter(running.dashboard.address(running.url))
  await entered.post('lookup', { limiter: 'unwatched', key: 'u42' })
  expect(isIdle()).toBe(true)

  const stream = await frames(entered)
  await stream.next()
  expect([time.timers, decisions.hasSubscribers]).toEqual([1, true])
  stream.close()
  await waitUntil('the viewer is gone', async () => time.repeating === 0)
  expect(time.timers).toBe(1)
  time.pass(9_000)
  expect(decisions.hasSubscribers).toBe(true)
  time.pass(1_000)
  expect(isIdle()).toBe(true)
})

test('a viewer who returns within 10 s finds the earlier figures', async () => {
  const time = fakeTime()
  const limiter = new RateLimiter({ name: 'reloaded', policy })
  const running = await plain.start({ limiters: [limiter] }, time)
  open.push(limiter, running)
  const entered = await enter(running.dashboard.address(running.url))
  const first = await frames(entered)
  await first.next()
  for (let i = 0; i < 12; i += 1) await limiter.consume('u42')
  first.close()
  await waitUntil('the viewer is gone', async () => time.repeating === 0)
  time.pass(9_000)
  const again = await frames(entered)
  const { limiters } = await again.next()
  expect(limiters[0]?.refusedKeys).toMatchObject([{ count: 2 }])
  again.close()
})

test('close ends timers, subscriptions and streams', async () => {
  const limiter = new RateLimiter({ name: 'closed', policy })
  const running = await plain.start({ limiters: [limiter] })
  open.push(limiter, running)
  const entered = await enter(running.dashboard.address(running.url))
  const stream = await frames(entered)
  await stream.next()
  running.dashboard.close()
  expect(decisions.hasSubscribers).toBe(false)
  await expect(stream.until(() => false)).rejects.toThrow()
  expect((await frames(entered)).status).toBe(503)
  expect(decisions.hasSubscribers).toBe(false)
})
