// Equal requests of one turn share a guard on their way to Redis, in virtual time.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fixedWindow, RateLimiter } from '../../../src/index.js'
import { inTime } from '../../../src/limiter/limiter.js'
import type { Connection, Send } from '../../../src/redis/connection.js'
import { redisStoreIn } from '../../../src/redis/store.js'
import { virtualTime } from '../../virtual-time.js'

beforeEach(() => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => {
  vi.restoreAllMocks()
})

const LIMIT = 10

/** A limiter on a Redis whose next reply says that as many are granted as were asked for, after
 *  `replyMs`. */
function world() {
  const time = virtualTime()
  const state = { replyMs: 1, taken: 0, reconciled: 0 }
  const call: Send = async (command, args) => {
    if (command !== 'evalsha') return 1
    if (args.includes('reconcile')) state.reconciled += 1
    const granted = Number(args.at(-1)) || 1
    state.taken += granted
    const reply = [time.nowUs(), granted, LIMIT - state.taken, 0, 60_000_000].join(' ')
    await new Promise<void>((resolve) => void time.after(state.replyMs, resolve))
    return reply
  }
  const connection: Connection = {
    ...{ place: [], isCluster: false, keyPrefix: '', database: 0, repliesInText: true },
    nodeOf: () => undefined,
    call,
    inOneWrite(_, items, ask) {
      for (const item of items) ask(item, call)
    },
    unready: () => undefined,
    attempt: () => undefined,
  }
  const store = redisStoreIn(time, connection, { instances: 1 })
  const policy = fixedWindow({ limit: LIMIT, window: '1m' })
  const limiter = new RateLimiter(inTime(time, { name: 'a', store, policy }))
  const three = async () => {
    const all = Promise.all([0, 1, 2].map(() => limiter.consume('k')))
    return (await time.settle(all)).map(({ source, remaining }) => `${source} ${remaining}`)
  }
  return { time, state, store, three }
}

test('what the last of them leaves is what was seen', async () => {
  const { state, three } = world()
  expect(await three()).toEqual(['store 9', 'store 8', 'store 7'])
  state.replyMs = 200
  expect(await three()).toEqual(['local 6', 'local 5', 'local 4'])
})

test('each is decided without a Redis that is late, and is counted there once', async () => {
  const { time, state, store, three } = world()
  state.replyMs = 101
  expect(await three()).toEqual(['local 9', 'local 8', 'local 7'])
  expect(store.health()).toMatchObject({ localKeys: 1 })
  await time.advance(2_000)
  expect(store.health()).toMatchObject({ localKeys: 0 })
  expect(state.reconciled).toBe(0)
})
