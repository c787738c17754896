// Proxy settings that are certainly mistakes cause a warning. A process gives each warning once, so
// this file is one test.

import { Controller, Get } from '@nestjs/common'
import { RateLimitModule } from '@weir/nest'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type StartOptions, start } from './app.js'
import { platform } from './platform.js'

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

test('each warning is given once', async () => {
  expect(await warned({ trust: 'loopback' })).toEqual([])
  const inert = platform.countsHops ? [] : ['WEIR_TRUST_INERT']
  expect(await warned({ trust: 1 })).toEqual(inert)
  expect(await warned({ trust: true })).toEqual(['WEIR_TRUST_ALL'])
  expect(await warned({ trust: true })).toEqual([])
  expect(await warned({})).toEqual(['WEIR_FORWARDED_IGNORED'])
  expect(await warned({})).toEqual([])
})
