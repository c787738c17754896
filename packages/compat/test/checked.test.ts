// Each factory reports invalid input where it is passed.

import { memoryStore } from '@weir/core'
import { expect, test } from 'vitest'
import { weirStorage as ofBetterAuth } from '../src/better-auth.js'
import { weirStore as ofExpress } from '../src/express-rate-limit.js'
import { weirStore as ofFastify } from '../src/fastify-rate-limit.js'
import { weirStore as ofHono } from '../src/hono-rate-limiter.js'
import { weirDb as ofKoa } from '../src/koa-ratelimit.js'
import { weirStorage as ofNest } from '../src/nest-throttler.js'

const factories = { ofBetterAuth, ofExpress, ofFastify, ofHono, ofKoa, ofNest }
type Factory = (store: never, options?: object) => unknown

test.each(Object.entries(factories) as [string, Factory][])('%s', (_, make) => {
  const store = memoryStore() as never
  const coded = (code: string) => expect.objectContaining({ code })
  expect(() => make(store, { nmae: 'api' })).toThrow(/there is no option "nmae"; there are name,/)
  expect(() => make(store, { algorithm: 'token-bucket\n' })).toThrow(
    /is "token-bucket\\u000a"; give/,
  )
  expect(() => make(store, 'redis://ann:secret@h' as never)).toThrow(
    /options are "redis:\/\/…"; give/,
  )
  expect(() => make(store, { shared: 1 })).toThrow(coded('WEIR_INVALID_OPTION'))
  expect(() => make(store, { name: 'a b' })).toThrow(coded('WEIR_INVALID_NAME'))
  expect(() => make({ callBuffer() {} } as never)).toThrow(coded('WEIR_INVALID_OPTION'))
  expect(() => make(undefined as never)).toThrow(coded('WEIR_INVALID_OPTION'))
  expect(() => make(store, null as never)).toThrow(coded('WEIR_INVALID_OPTION'))
  expect(() => make(store, { name: 'x'.repeat(65) })).toThrow(coded('WEIR_INVALID_NAME'))
  expect(make(store, { name: 'api', algorithm: 'sliding-window', shared: true })).toBeDefined()
})
