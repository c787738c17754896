// @ts-check
// Starts the example as a user does, sends six requests, and presses Ctrl-C.

import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { expect, inject, onTestFinished, test } from 'vitest'

test('the server allows five requests on PostgreSQL, refuses the sixth, and ends on Ctrl-C', async () => {
  // Only PostgreSQL decides, even on a busy machine.
  const settings = { DATABASE_URL: inject('postgresUrls').start, DEADLINE_MS: '20000' }
  const { url, stop, kill } = await startExample(join(import.meta.dirname, '..'), settings)
  onTestFinished(kill)
  // All at once, so that they are within one window.
  const responses = await Promise.all(Array.from({ length: 6 }, () => fetch(url)))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429])
  expect(await stop()).toBe(0)
})
