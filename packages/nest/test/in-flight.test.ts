// The slots of handlers that an interceptor around them gives up.

import { Controller, Get, type NestInterceptor, UseInterceptors } from '@nestjs/common'
import { concurrency, RateLimitDecision, RateLimitModule, type RequestDecision } from '@weir/nest'
import { of, timeout } from 'rxjs'
import { expect, test, vi } from 'vitest'
import { start } from './app.js'

const impatient: NestInterceptor = {
  intercept: (_, next) => next.handle().pipe(timeout({ each: 50, with: () => of('given up') })),
}

test('a handler that an interceptor gives up counts as ended, except for the work that it passed to `until`', async () => {
  const working: (() => void)[] = []
  @Controller()
  class Reports {
    @UseInterceptors(impatient) @Get('left') left() {
      return new Promise<void>((resolve) => working.push(resolve))
    }
    @UseInterceptors(impatient) @Get('kept') kept(@RateLimitDecision() { held }: RequestDecision) {
      return held?.until(new Promise<void>((resolve) => working.push(resolve)))
    }
    @Get('free') free() {}
  }
  const policy = concurrency({ name: 'open', limit: 1, holdTimeout: '30s' })
  const imports = [RateLimitModule.forRoot({ policy, key: () => 'all' })]
  const { statuses } = await start({ imports, controllers: [Reports] })
  expect(await statuses('/left')).toEqual([200])
  await vi.waitFor(async () => expect(await statuses('/free')).toEqual([200]))
  expect(await statuses('/kept', '/free', '/free')).toEqual([200, 429, 429])
  for (const done of working) done()
  await vi.waitFor(async () => expect(await statuses('/free')).toEqual([200]))
})
