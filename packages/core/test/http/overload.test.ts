// Overload protection over HTTP, in virtual time. What it does to real servers is tested with each
// framework.

import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { overloadGuardIn, recordResponseIn } from '../../src/http/overload.js'
import type { NodeResponse } from '../../src/http/response/ending.js'
import { responses } from '../../src/overload/signals.js'
import { virtualTime } from '../virtual-time.js'

function open(): NodeResponse & EventEmitter {
  const parts = { statusCode: 200, writableEnded: false, writableFinished: false, closed: false }
  return Object.assign(new EventEmitter(), parts)
}

function end(response: NodeResponse & EventEmitter): void {
  Object.assign(response, { writableEnded: true, writableFinished: true })
  response.emit('close')
}

test('overload protection finds its limit and its baseline in the time that it is given', async () => {
  const run = async (): Promise<unknown> => {
    const time = virtualTime()
    const guard = overloadGuardIn(time, {})
    const waits: unknown[] = []
    for (let i = 0; i < 200; i += 1) {
      const all = Array.from({ length: 24 }, open)
      for (const response of all) waits.push(guard.admit(response)?.retryAfterMs)
      await time.advance(40)
      all.forEach(end)
    }
    expect(guard.baselineMs).toBe(40)
    expect(guard.inFlight).toBe(0)
    const { limit, refused } = guard
    return { limit, refused, waits }
  }
  const first = await run()
  expect(first).toMatchObject({ refused: expect.toSatisfy((refused) => refused > 0) })
  expect(await run()).toEqual(first)
})

test('a signal is told how long a response took in the time that it is given', async () => {
  const time = virtualTime()
  const signal = responses({ latency: '100ms' })
  const response = open()
  recordResponseIn(time, signal, response)
  await time.advance(250)
  end(response)
  expect(signal()).toBe(2.5)
})
