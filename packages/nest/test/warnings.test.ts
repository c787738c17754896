// Proxy settings that are certainly mistakes cause a warning. A process gives each warning once, so
// this file is one test.

import { Controller, Get } from '@nestjs/common'
import * as platform from '@nestjs/platform-fastify'
import { RateLimitModule } from '@weir/nest'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type StartOptions, start } from './app.js'

@Controller()
class Plain {
  @Get() get() {}
}

/** The codes of the warnings that a server's requests caused. */
async function warned(options: StartOptions): Promise<unknown[]> {
  const codes: unknown[] = []
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(((
    _: string,
    options: { code?: string },
  ) => {
    codes.push(options?.code)
  }) as typeof process.emitWarning)
  onTestFinished(() => warn.mockRestore())
  const app = await start(
    { imports: [RateLimitModule.forRoot({ limit: 9, window: '1m' })], controllers: [Plain] },
    options,
  )
  const forwarded = { 'X-Forwarded-For': '6.6.6.6' }
  for (let i = 0; i < 3; i += 1) await app.get('/', forwarded)
  await app.app.close()
  warn.mockRestore()
  return codes.filter((code) => String(code).startsWith('WEIR_'))
}

test('each warning is given once, by the platform that shows it', async () => {
  expect(await warned({ platform: 'fastify', trust: 'loopback' })).toEqual([])
  expect(await warned({ platform: 'express', trust: 'loopback' })).toEqual([])
  expect(await warned({ platform: 'express', trust: 1 })).toEqual([])
  // A number of hops: since 5.12.1, Fastify then trusts nobody; before, it counts hops.
  const inert = countsHops() ? [] : ['WEIR_TRUST_INERT']
  expect(await warned({ platform: 'fastify', trust: 1 })).toEqual(inert)
  expect(await warned({ platform: 'fastify', trust: true })).toEqual(['WEIR_TRUST_ALL'])
  expect(await warned({ platform: 'express', trust: true })).toEqual([])
  expect(await warned({ platform: 'fastify' })).toEqual(['WEIR_FORWARDED_IGNORED'])
  expect(await warned({ platform: 'express' })).toEqual([])
})

/** What the server does, according to Fastify itself. */
function countsHops(): boolean {
  const instance = new platform.FastifyAdapter().getInstance()
  const [major = 0, minor = 0, patch = 0] = String(instance.version).split('.').map(Number)
  return (
    [major, minor, patch].map((part) => String(part).padStart(4, '0')).join('.') < '0005.0012.0001'
  )
}
