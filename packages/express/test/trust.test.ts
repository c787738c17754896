// Proxy settings that trust everybody cause a warning. A process warns once, so the modules are
// loaded again for each test.

import express from 'express'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { serve } from './serve.js'

beforeEach(() => void vi.resetModules())

const HALVES = ['0.0.0.0/1', '128.0.0.0/1', '::/1', '8000::/1']

test.each<[string, unknown, string[]]>([
  ['true', true, ['WEIR_TRUST_ALL']],
  ['a function that trusts everybody', () => true, ['WEIR_TRUST_ALL']],
  ['two halves of all addresses', HALVES, ['WEIR_TRUST_ALL']],
  ['more hops than there are', 5_000, ['WEIR_TRUST_ALL']],
  ['a function that trusts proxies', (address: string) => address.startsWith('127.'), []],
  ['a function of hops', (_: string, hop: number) => hop < 2, []],
  ['a number of hops', 2, []],
  ['a list', 'loopback, 10.0.0.0/8', []],
])('trust proxy is %s', async (_, trust, expected) => {
  const codes: unknown[] = []
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(((
    _text: string,
    options: { code?: string },
  ) => {
    codes.push(options?.code)
  }) as typeof process.emitWarning)
  onTestFinished(() => warn.mockRestore())
  const { rateLimit } = await import('../src/index.js')
  const app = express().set('trust proxy', trust)
  app.use(rateLimit({ limit: 9, window: '1m' }))
  app.get('/', (_req, res) => void res.send('ok'))
  const { get } = await serve(app)
  for (let i = 0; i < 2; i += 1) await get('/', { headers: { 'X-Forwarded-For': '6.6.6.6' } })
  expect(codes).toEqual(expected)
})
