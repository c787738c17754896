// An application that shuts down while requests wait.

import { Controller, Get } from '@nestjs/common'
import { leakyBucket, RateLimit, RateLimitModule, RateLimits } from '@weir/nest'
import { expect, test, vi } from 'vitest'
import { start } from './app.js'

test('at shutdown, waiting requests are refused, so that they do not delay it', async () => {
  const policy = leakyBucket({ capacity: 1, leak: 1, every: '1h' })
  @Controller()
  class Late {
    @Get() @RateLimit({ policy, wait: '2h' }) get() {}
    @Get('other') @RateLimit({ name: 'other', policy, wait: '2h' }) other() {}
  }
  const imports = [RateLimitModule.forRoot({ limit: 2, window: '1h' })]
  const { app, get, statuses } = await start({ imports, controllers: [Late] })
  expect(await statuses('/', '/other')).toEqual([200, 200])
  const waiting = ['/', '/other'].map((path) => get(path, { connection: 'close' }))
  const limits = app.get(RateLimits)
  const resetMs = async (name: string) => (await limits.get(name).peek('127.0.0.1')).resetAfterMs
  for (const name of ['Late.get', 'other'])
    await vi.waitFor(async () => expect(await resetMs(name)).toBeGreaterThan(3_600_000))
  await limits.get('other').consume('u42')
  const outside = limits.get('other').wait('u42')
  const closing = app.close()
  await expect(outside).rejects.toMatchObject({ code: 'WEIR_CLOSED' })
  const answers = await Promise.all(waiting)
  expect(answers.map(({ status }) => status)).toEqual([503, 503])
  expect(answers[0]?.headers.get('retry-after')).toBe('1')
  await closing
})
