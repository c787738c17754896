// Options that would have no effect, and middlewares that were not made.

import { describe, expect, test } from 'vitest'
import { httpLimiter, type LimitOptions, overload } from '../../src/http/index.js'
import { type FakeRequest, fake } from './exchange.js'

const middleware = { ...fake, isMiddleware: true }

function make(options: object, adapter = middleware): void {
  const all = { limit: 1, window: '1m', ...options } as LimitOptions<FakeRequest>
  httpLimiter(all, adapter).limiter.close()
}

function refused(message: RegExp): unknown {
  return expect.objectContaining({
    code: 'WEIR_INVALID_OPTION',
    message: expect.stringMatching(message),
  })
}

describe('an option without effect is refused', () => {
  const onDenied = () => undefined
  const reserve = { batch: 0.5 }

  test.each<[string, object, object]>([
    ['reserve', { reserve }, { priority: 'batch' }],
    ['maxWaiting', { maxWaiting: { perKey: 1 } }, { wait: 0 }],
    ['maxWaiting', { maxWaiting: { perKey: 1 } }, { wait: '1s' }],
  ])('%s %j alone', (name, idle, partner) => {
    expect(() => make(idle)).toThrow(refused(new RegExp(`^${name} does nothing without `)))
    make({ ...idle, ...partner })
    // In Nest, a module may have it, and its handlers the other option.
    make(idle, { ...fake, isMiddleware: false })
  })

  test.each([
    ['body', { body: 'no' }],
    ['status', { status: 503 }],
  ])('%s beside onDenied', (name, idle) => {
    expect(() => make({ ...idle, onDenied })).toThrow(
      refused(new RegExp(`^${name} does nothing beside onDenied`)),
    )
    make(idle)
    make({ ...idle, onDenied: undefined })
    make({ ...idle, onDenied }, { ...fake, isMiddleware: false })
  })
})

describe('a function that makes a middleware, mounted itself, says to call it', () => {
  const request = { headers: {}, method: 'GET', url: '/' }

  test('rateLimit', () => {
    expect(() => make(request)).toThrow(
      refused(
        /^rateLimit was given a request; .* returns: rateLimit\(\{ limit: 100, window: '1m' \}\) \(see /,
      ),
    )
  })

  test('overload', () => {
    expect(() => overload(request as never)).toThrow(refused(/returns: overload\(\) \(see /))
  })
})
