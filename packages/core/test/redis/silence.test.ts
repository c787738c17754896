// How long nothing may come on a connection, in virtual time; ../outages/silence.test.ts shows what
// a client does then.

import { beforeEach, expect, test } from 'vitest'
import { silenceWatch } from '../../src/redis/clients/ioredis/silence.js'
import { type VirtualTime, virtualTime } from '../virtual-time.js'

let time: VirtualTime
let givenUpAtMs: number | undefined
beforeEach(() => {
  time = virtualTime()
  givenUpAtMs = undefined
})

/** A connection on which a number of bytes has come. */
function connection() {
  const stream = {
    bytesRead: 0,
    destroy() {
      givenUpAtMs ??= time.nowMs()
    },
  }
  return { stream } as Parameters<ReturnType<typeof silenceWatch>>[0] & { stream: typeof stream }
}

/** Sends a command every 20 ms. */
async function send(
  to: ReturnType<typeof connection>,
  deadlineMs: number,
  forMs: number,
  meanwhile: (nowMs: number) => void = () => {},
): Promise<void> {
  const watch = silenceWatch(deadlineMs, time)
  for (let ms = 0; ms < forMs; ms += 20) {
    meanwhile(ms)
    watch(to)
    await time.advance(20)
  }
}

test('a connection on which nothing has come for a second is given up', async () => {
  await send(connection(), 100, 3_000)
  expect(givenUpAtMs).toBeGreaterThanOrEqual(1_000)
  expect(givenUpAtMs).toBeLessThanOrEqual(1_500)
})

test('silence shorter than the deadline does not count', async () => {
  await send(connection(), 5_000, 12_000)
  expect(givenUpAtMs).toBeGreaterThanOrEqual(5_000)
  expect(givenUpAtMs).toBeLessThanOrEqual(7_500)
})

test('a connection that is slow, but answers, is kept', async () => {
  const slow = connection()
  await send(slow, 100, 10_000, (ms) => {
    if (ms % 700 === 0) slow.stream.bytesRead += 1
  })
  expect(givenUpAtMs).toBeUndefined()
})

test('a blocked event loop is not silence: what has arrived meanwhile is read first', async () => {
  const to = connection()
  const watch = silenceWatch(100, time)
  watch(to)
  time.block(1_500)
  watch(to)
  time.soon(() => {
    to.stream.bytesRead += 1
  })
  await time.advance(100)
  expect(givenUpAtMs).toBeUndefined()
})
