// Tests of users that call the guard directly: a made-up context is limited like a real one, or
// refused.

import { Controller, type ExecutionContext, Get } from '@nestjs/common'
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js'
import { fixedWindow, RateLimitGuard, RateLimitModule } from '@weir/nest'
import { expect, test } from 'vitest'
import { start } from './app.js'

@Controller()
class Plain {
  @Get() get() {}
}

const request = { method: 'GET', headers: {}, ip: '192.0.2.1' }
const response = { headersSent: false, setHeader() {}, header() {} }

async function guardOf() {
  const policy = fixedWindow({ limit: 1, window: '1h' })
  const { app } = await start({
    imports: [RateLimitModule.forRoot({ policy })],
    controllers: [Plain],
  })
  return app.get(RateLimitGuard)
}

test('a context of the class that Nest uses is limited', async () => {
  const guard = await guardOf()
  const context = () => {
    const host = new ExecutionContextHost([{ ...request }, response], Plain, Plain.prototype.get)
    host.setType('http')
    return host
  }
  expect(await guard.canActivate(context())).toBe(true)
  await expect((async () => guard.canActivate(context()))()).rejects.toMatchObject({ status: 429 })
})

const handler = { getClass: () => Plain, getHandler: () => Plain.prototype.get }
const http = { switchToHttp: () => ({ getRequest: () => request, getResponse: () => response }) }
// Made as libraries for tests do for unknown values.
const unknown = { getArgs: () => [], getArgByIndex: () => undefined }

test.for<[string, object]>([
  ['without a type', { ...handler, ...http, ...unknown, getType: () => undefined }],
  ['without arguments', { ...handler, ...http, ...unknown, getType: () => 'http' }],
  [
    'with arguments that are made up as well',
    { ...handler, ...http, ...unknown, getArgByIndex: () => () => {}, getType: () => 'http' },
  ],
  [
    'with a request that has no method',
    new ExecutionContextHost([{ ip: '192.0.2.1' }, response], Plain, Plain.prototype.get),
  ],
])('one %s is refused, and does not pass silently', async ([, context]) => {
  const guard = await guardOf()
  await expect(
    (async () => guard.canActivate(context as ExecutionContext))(),
  ).rejects.toMatchObject({
    code: 'WEIR_NOT_ENFORCED',
    message: expect.stringMatching(/ExecutionContextHost/),
  })
})
