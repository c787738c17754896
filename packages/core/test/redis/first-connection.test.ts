// The wait for a client's first connection; limiter/first-waits.test.ts has what requests get.

import { expect, test } from 'vitest'
import { processTime } from '../../src/base/time.js'
import { FirstConnection } from '../../src/redis/transport/first-connection.js'

const time = { ...processTime, after: () => () => {} }

test('it is waited for once, and no longer than until the store is closed', async () => {
  const connection = {
    attempt: () => new Promise<void>(() => {}),
    unready: () => 'it is being made',
  }
  const first = new FirstConnection(connection, 100, time)
  const waiting = first.wait()
  expect(first.wait()).toBe(waiting)
  expect(first.unready()).toBe(undefined)
  first.close()
  await expect(waiting).rejects.toThrow('it is being made')
  expect(first.wait()).toBe(undefined)
  expect(first.unready()).toBe('it is being made')
})

test('it is not waited for if a client does not report how it is made', () => {
  const first = new FirstConnection({ attempt: () => undefined, unready: () => undefined }, 1, time)
  expect(first.wait()).toBe(undefined)
  expect(first.isOver).toBe(true)
})
