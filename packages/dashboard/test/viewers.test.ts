// Viewers: many, slow, gone.

import { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { fixedWindow, RateLimiter } from '@weir/core'
import { waitUntil } from '@weir/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Collector } from '../src/collect/collector.js'
import type { Frame } from '../src/protocol.js'
import type { Reader } from '../src/server/exchange.js'
import { readerOf } from '../src/server/node.js'
import { Viewers } from '../src/server/viewers.js'
import { allOf } from '../src/watched.js'
import { begin, enter, frames } from './client.js'
import { type FakeTime, fakeTime } from './fake-time.js'
import { plain, type Running } from './servers.js'

const limiter = new RateLimiter({ name: 'viewed', policy: fixedWindow({ limit: 9, window: '1h' }) })
let running: Running
let time: FakeTime

beforeEach(async () => {
  time = fakeTime()
  running = await plain.start({ limiters: [limiter] }, time)
})

afterEach(() => running.close())

const entered = () => enter(running.dashboard.address(running.url))

test('of 100 viewers, 32 are let in, and the others come back later', async () => {
  const { url, cookie } = await entered()
  const asked = Array.from({ length: 100 }, () => begin(`${url}events`, { headers: { cookie } }))
  const all = await Promise.all(asked)
  const open = all.filter(({ statusCode }) => statusCode === 200)
  const away = all.filter(({ statusCode }) => statusCode === 503)
  expect([open.length, away.length]).toEqual([32, 68])
  expect(away[0]?.headers['retry-after']).toBe('10')
  for (const each of away) each.resume()
  for (const each of open) each.destroy()
  // Viewers who have left make room.
  await waitUntil('a place', async () => {
    const stream = await frames({ url, cookie })
    stream.close()
    return stream.status === 200
  })
})

function viewersIn(time: FakeTime) {
  let made = 0
  const collector = new Collector(time, allOf([limiter]), {
    showKeys: false,
    notes: () => {
      made += 1
      return []
    },
    failed: (error) => expect.unreachable(String(error)),
  })
  const viewers = new Viewers(time, collector, (error) => expect.unreachable(String(error)))
  return { viewers, frames: () => made }
}

function reader(takes: () => boolean): Reader & { readonly got: string[]; isOver: boolean } {
  return {
    got: [],
    isOver: false,
    send(text) {
      if (!takes()) return false
      this.got.push(text)
      return true
    },
    end() {
      this.isOver = true
    },
  }
}

const VIEWER = { name: undefined, mayAct: false }

test('a frame is made once for all viewers, with what belongs to each', () => {
  const time = fakeTime()
  const { viewers, frames } = viewersIn(time)
  const all = ['ada', 'grace', 'joan'].map((name) => {
    const each = reader(() => true)
    viewers.add(each, { name, mayAct: name === 'ada' })
    return each
  })
  expect(frames()).toBe(1)
  time.pass(3_000)
  expect(frames()).toBe(4)
  for (const { got } of all) expect(got).toHaveLength(4)
  const data = all.map(({ got }) => JSON.parse(/^data: (.*)$/m.exec(got[1] ?? '')?.[1] ?? ''))
  expect(data.map(({ viewer }) => viewer)).toEqual([
    { name: 'ada', mayAct: true },
    { name: 'grace', mayAct: false },
    { name: 'joan', mayAct: false },
  ])
  expect(new Set(data.map(({ sequence }) => sequence))).toEqual(new Set([2]))
  viewers.close()
})

test('a viewer who comes later gets the last minute, without frames that actions added', () => {
  const time = fakeTime()
  const { viewers } = viewersIn(time)
  const first = reader(() => true)
  const leave = viewers.add(first, VIEWER)
  for (let second = 0; second < 90; second += 1) {
    time.pass(600)
    if (second % 7 === 0) viewers.refresh()
    time.pass(400)
  }
  const past = ({ got }: typeof first) => {
    return (JSON.parse(/^data: (.*)$/m.exec(got[0] ?? '')?.[1] ?? '') as Frame).past
  }
  const later = reader(() => true)
  const leaveToo = viewers.add(later, VIEWER)
  expect(past(first)).toBeUndefined()
  const times = past(later)?.map(({ atMs }) => atMs) ?? []
  const gaps = times.slice(1).map((atMs, i) => atMs - (times[i] as number))
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(500)
  expect((times.at(-1) as number) - (times[0] as number)).toBe(60_000)
  expect(past(later)?.[0]?.limiters).toMatchObject([{ id: 'viewed', degraded: 0 }])
  // Once nobody watches, it is forgotten.
  leave()
  leaveToo()
  time.pass(10_000)
  const again = reader(() => true)
  viewers.add(again, VIEWER)
  expect(past(again)).toBeUndefined()
  viewers.close()
})

test('a viewer who reads nothing for 30 s is disconnected, a slow one is not', () => {
  const time = fakeTime()
  const { viewers } = viewersIn(time)
  let turn = 0
  const stuck = reader(() => false)
  const slow = reader(() => turn++ % 10 === 0)
  viewers.add(stuck, VIEWER)
  viewers.add(slow, VIEWER)
  time.pass(29_000)
  expect(stuck.isOver).toBe(false)
  time.pass(31_000)
  expect([stuck.isOver, slow.isOver]).toEqual([true, false])
  expect(slow.got.length).toBeLessThan(10)
  viewers.close()
})

test('after an hour, a viewer has to show again that they may watch', () => {
  const time = fakeTime()
  const { viewers } = viewersIn(time)
  const each = reader(() => true)
  viewers.add(each, VIEWER)
  time.pass(3_599_000)
  expect(each.isOver).toBe(false)
  time.pass(2_000)
  expect(each.isOver).toBe(true)
  viewers.close()
})

/** A response to a client that no longer reads. */
function unread(): ServerResponse {
  const socket = new Duplex({ read() {}, write() {} }) as unknown as Socket
  const response = new ServerResponse(new IncomingMessage(socket))
  response.assignSocket(socket)
  return response
}

test('a viewer who does not read has one buffered frame, not more', () => {
  const response = unread()
  const each = readerOf(response)
  expect(each.send('one')).toBe(true)
  const { writableLength } = response
  for (let i = 0; i < 100; i += 1) expect(each.send('x'.repeat(10_000))).toBe(false)
  expect(response.writableLength).toBe(writableLength)
  each.end()
  expect(response.destroyed).toBe(true)
})
