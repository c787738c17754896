// Lock-outs over HTTP: a block ends the guesses, and a correct one among them ends the block.

import { Controller, Get, UnauthorizedException } from '@nestjs/common'
import {
  lockout,
  memoryStore,
  RateLimit,
  type RateLimiter,
  RateLimitModule,
  RateLimits,
} from '@weir/nest'
import { fakeClock } from '@weir/nest/testing'
import { expect, test } from 'vitest'
import { start } from './app.js'

const guesses = lockout({ name: 'guesses', limit: 3, window: '10m', block: ['1m'], forget: '1d' })

@Controller()
@RateLimit({
  name: 'login',
  policy: guesses,
  key: () => 'account',
  refundWhen: (_, { status }) => status === 200,
})
class Login {
  @Get() wrong() {
    throw new UnauthorizedException()
  }
  @Get('right') right() {}
}

async function site() {
  const clock = fakeClock()
  const imports = [RateLimitModule.forRoot({ store: memoryStore({ clock }) })]
  const running = await start({ imports, controllers: [Login] })
  const limiter: RateLimiter = running.app.get(RateLimits).get('login')
  return { clock, limiter, ...running }
}

test('the attempt that reaches the limit is answered, and the next response says when the block ends', async () => {
  const { clock, get } = await site()
  const fields = []
  for (let i = 0; i < 3; i += 1) fields.push((await get('/')).headers.get('ratelimit'))
  expect(fields).toEqual(['"guesses";r=2;t=600', '"guesses";r=1;t=600', '"guesses";r=0;t=60'])
  clock.advance(10_000)
  const denied = await get('/right')
  expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, '50'])
  expect(await denied.json()).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
  })
  clock.advance(50_000)
  expect((await get('/right')).status).toBe(200)
})

test('a correct guess that was in progress when the block began lifts it', async () => {
  const { get } = await site()
  const statuses = async (...paths: string[]) =>
    (await Promise.all(paths.map((path) => get(path)))).map(({ status }) => status).sort()
  expect(await statuses('/', '/', '/right')).toEqual([200, 401, 401])
  expect(await statuses('/')).toEqual([401])
  expect(await statuses('/')).toEqual([429])
})

test('a key is blocked and unblocked by hand', async () => {
  const { get, limiter } = await site()
  await limiter.block('account', '1h')
  expect((await get('/')).headers.get('retry-after')).toBe('3600')
  await limiter.unblock('account')
  expect((await get('/')).status).toBe(401)
})
