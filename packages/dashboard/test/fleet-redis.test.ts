// Processes on a real Redis, as one of them sees them. In which second each is seen, and that it
// costs nothing while nobody watches, is proven in virtual time: see fleet.test.ts, and
// redis/watched.test.ts of core.

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixedWindow, RateLimiter, recommendedRedisOptions, redisStore } from '@weir/core'
import { startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import type { ActionAnswer, Frame } from '../src/protocol.js'
import { enter, frames } from './client.js'
import { fakeTime } from './fake-time.js'
import { plain } from './servers.js'

const states = ({ fleet }: Frame): readonly (boolean | undefined)[] => {
  return fleet.map(({ limiters: [only] }) => only?.enabled)
}

test('processes that share a Redis see each other, and a limiter is switched off and on in all', async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const time = fakeTime()
  // All that a process has, in this one.
  const join = async () => {
    const client = new Redis(server.url, recommendedRedisOptions)
    onTestFinished(() => client.disconnect())
    await once(client, 'ready')
    const store = redisStore(client, { deadlineMs: 60_000, whenUnavailable: 'throw' })
    onTestFinished(() => store.close())
    const policy = fixedWindow({ name: 'hourly', limit: 1, window: '1h' })
    const limiter = new RateLimiter({ name: 'api', store, policy, shared: true })
    const running = await plain.start({ limiters: [limiter], actions: true }, time)
    onTestFinished(() => running.close())
    return { limiter, running }
  }
  const one = await join()
  const entered = await enter(one.running.dashboard.address(one.running.url))
  const stream = await frames(entered)
  await stream.next()
  const until = async (holds: (frame: Frame) => boolean): Promise<Frame> => {
    for (;;) {
      time.pass(1_000)
      const frame = await stream.next()
      if (holds(frame)) return frame
      await sleep(20)
    }
  }

  const others = [await join(), await join()]
  await others[0]?.limiter.consume('u42')
  for (let i = 0; i < 4; i += 1) await others[1]?.limiter.consume('u42')
  const { fleet } = await until((frame) => {
    return frame.fleet.some(({ limiters: [only] }) => only?.denied === 4)
  })
  expect(fleet.map(({ isThis }) => isThis)).toEqual([true, false, false])
  expect(fleet.map(({ limiters: [only] }) => only?.allowed).sort()).toEqual([0, 0, 1])

  for (const [kind, isOn] of [
    ['disable', false],
    ['enable', true],
  ] as const) {
    const { body } = await entered.post('actions', { kind, limiter: 'api', confirm: 'api' })
    expect((JSON.parse(body) as ActionAnswer).note).toMatchObject({ outcome: 'done' })
    await until((frame) => frame.fleet.length === 3 && states(frame).every((each) => each === isOn))
  }
  expect(others.map(({ limiter }) => limiter.enabled)).toEqual([true, true])
  stream.close()
})
