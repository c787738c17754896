// Overload protection over HTTP, in virtual time. Its effect on real servers is tested with each
// framework.

import { EventEmitter } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import {
  type NodeServerResponse,
  type OverloadOptions,
  overload,
  overloadGuard,
  overloadGuardIn,
  recordResponseIn,
} from '../../src/http/overload.js'
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

test('overload protection finds its limit and its baseline latency in its own time', async () => {
  const run = async (): Promise<unknown> => {
    const time = virtualTime()
    const guard = overloadGuardIn(time, {})
    const waits: unknown[] = []
    for (let i = 0; i < 200; i += 1) {
      const all = Array.from({ length: 24 }, open)
      for (const response of all) waits.push(guard.admit({}, response)?.retryAfterMs)
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

test('a signal gets the duration of a response in its own time', async () => {
  const time = virtualTime()
  const signal = responses({ latency: '100ms' })
  const response = open()
  recordResponseIn(time, signal, response)
  await time.advance(250)
  end(response)
  expect(signal()).toBe(2.5)
})

describe('classes', () => {
  interface Request {
    readonly plan: unknown
  }
  const reserve = { normal: 0.2, free: 0.5, never: 1 }
  const options = { reserve, priority: ({ plan }: Request) => plan as 'free' }

  /** Lets requests of a class in until one is refused. */
  const fill = (guard: ReturnType<typeof overloadGuard<Request>>, plan: string): number => {
    let count = 0
    while (guard.admit({ plan }, open()) === undefined) count += 1
    return count
  }

  test('each leaves its part of the limit to those above, and is counted', () => {
    const guard = overloadGuard(options)
    expect(fill(guard, 'never')).toBe(0)
    expect(fill(guard, 'free')).toBe(10)
    expect(fill(guard, 'free')).toBe(0)
    expect(fill(guard, 'normal')).toBe(6)
    expect(fill(guard, 'critical')).toBe(4)
    expect([guard.limit, guard.inFlight, guard.refused]).toEqual([20, 20, 5])
    expect(guard.priorities).toEqual([
      { priority: 'critical', admitted: 4, refused: 1 },
      { priority: 'normal', admitted: 6, refused: 1 },
      { priority: 'free', admitted: 10, refused: 2 },
      { priority: 'never', admitted: 0, refused: 1 },
    ])
  })

  test('without reserve there are none', () => {
    const guard = overloadGuard()
    guard.admit({}, open())
    expect(guard.priorities).toEqual([])
  })

  test('a class that leaves some of the smallest limit still gets one request at a time', async () => {
    const time = virtualTime()
    const guard = overloadGuardIn(time, { ...options, target: '1ms' })
    for (let i = 0; guard.limit > 2; i += 1) {
      expect(i).toBeLessThan(1_000)
      const all = Array.from({ length: 40 }, open)
      for (const response of all) guard.admit({ plan: 'critical' }, response)
      await time.advance(200)
      all.forEach(end)
    }
    expect(guard.inFlight).toBe(0)
    expect(fill(guard, 'never')).toBe(0)
    expect(fill(guard, 'free')).toBe(1)
    expect(fill(guard, 'normal')).toBe(0)
    expect(fill(guard, 'critical')).toBe(1)
  })

  test('an unknown class counts as the one that leaves most, with one warning, and so does a promise', async () => {
    const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const guard = overloadGuard({ reserve: { free: 0.5 }, priority: options.priority })
    for (const plan of [undefined, 'Free', 7, Promise.resolve('critical'), Promise.reject('no')])
      guard.admit({ plan }, open())
    expect(guard.priorities[1]).toEqual({ priority: 'free', admitted: 5, refused: 0 })
    expect(emitted.mock.calls.map(([text]) => text)).toEqual([
      expect.stringContaining('priority of overload() gave undefined, which is no class'),
    ])
    await new Promise((resolve) => setImmediate(resolve))
    emitted.mockRestore()
  })

  test.each([[new Error('no')], [undefined]])(
    'what priority throws (%s) goes to next',
    (thrown) => {
      const guard = overload<Request & object, 'free'>({
        reserve: { free: 0.5 },
        priority: () => {
          throw thrown
        },
      })
      const next = vi.fn()
      guard({ plan: 1 }, open() as unknown as NodeServerResponse, next)
      expect(next).toHaveBeenCalledExactlyOnceWith(thrown ?? expect.any(Error))
      expect([guard.inFlight, guard.refused]).toEqual([0, 0])
    },
  )

  test.each<[object, string]>([
    [{ reserve: { free: 0.5 } }, 'overload() has reserve without priority'],
    [{ priority: () => 'critical' }, 'overload() has priority without reserve'],
    [{ reserve: { free: 1.5 }, priority: () => 'free' }, 'reserve of class "free" is 1.5'],
    [{ reserve: [], priority: () => 'free' }, 'reserve is []'],
    [{ reserve: { free: 0.5 }, priority: 'free' }, 'priority is "free"'],
    [{ reserve: { free: 0.5 }, priorities: 'free' }, 'does not know the option "priorities"'],
  ])('%o is refused', (bad, text) => {
    expect(() => overload(bad as OverloadOptions)).toThrow(
      expect.objectContaining({
        code: 'WEIR_INVALID_OPTION',
        message: expect.stringContaining(text),
      }),
    )
  })
})
