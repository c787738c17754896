// The methods of a limiter that counts by address accept addresses in any spelling.

import { describe, expect, test, vi } from 'vitest'
import { concurrency, fixedWindow, lockout, type RateLimiter } from '../../../src/index.js'
import { limitOn } from '../exchange.js'

const policy = fixedWindow({ limit: 10, window: '1m' })

describe.each([
  ['2001:db8::1', '2001:db8:0:ff::9'],
  ['::ffff:9.9.9.9', '9.9.9.9'],
  ['9.9.9.9', '9.9.9.9:80'],
])('a client from %s is found by %s', (address, other) => {
  async function used(act: (limiter: RateLimiter) => unknown): Promise<number> {
    const { send, limiter } = limitOn({ policy, cost: 4 })
    await send({ address })
    await act(limiter)
    return 10 - (await limiter.peek(other)).remaining
  }

  test.each<[string, number, (limiter: RateLimiter) => unknown]>([
    ['peek', 4, (limiter) => limiter.peek(other)],
    ['reset', 0, (limiter) => limiter.reset(other)],
    ['refund', 3, (limiter) => limiter.refund(other)],
    ['refund of a decision', 4, async (limiter) => limiter.refund(await limiter.consume(other))],
    ['penalty', 5, (limiter) => limiter.penalty(other)],
    ['consume', 5, (limiter) => limiter.consume(other)],
    ['decide', 5, (limiter) => limiter.decide(other)],
    ['wait', 5, (limiter) => limiter.wait(other)],
    ['consumeUpTo', 10, (limiter) => limiter.consumeUpTo(other, 9)],
  ])('%s', async (_, units, act) => {
    expect(await used(act)).toBe(units)
  })
})

test.each<[string, (limiter: RateLimiter) => Promise<unknown>]>([
  ['acquire', (limiter) => limiter.acquire('2001:db8:0:ff::9')],
  [
    'hold',
    (limiter) =>
      new Promise<void>((held) => {
        void limiter.hold('2001:db8:0:ff::9', () => {
          held()
          return new Promise(() => {})
        })
      }),
  ],
])('%s takes a slot for the network of an address', async (_, act) => {
  const slots = concurrency({ limit: 5, holdTimeout: '1m' })
  const { limiter } = limitOn({ policy: slots })
  await act(limiter)
  expect((await limiter.peek('2001:db8::1')).remaining).toBe(4)
})

test('a network is blocked and unblocked by any of its addresses', async () => {
  const guesses = lockout({ limit: 5, window: '15m', block: ['1m', '1h'], forget: '1d' })
  const { limiter } = limitOn({ policy: guesses })
  await limiter.block('2001:db8:0:ff::9', '1h')
  expect((await limiter.peek('2001:db8::1')).allowed).toBe(false)
  await limiter.unblock('2001:db8:0:fe::9')
  expect((await limiter.peek('2001:db8::1')).allowed).toBe(true)
})

test('a text that is not an address is used as the key, and so is a network', async () => {
  const { send, limiter } = limitOn({ policy, ipv6Prefix: 64 })
  for (const key of ['u42', 7, '2001:db8::/64']) await limiter.consume(key)
  expect((await limiter.peek('u42')).remaining).toBe(9)
  expect((await limiter.peek('7')).remaining).toBe(9)
  await send({ address: '2001:db8::5' })
  expect((await limiter.peek('2001:db8::9')).remaining).toBe(8)
  expect((await limiter.peek('2001:db8:0:1::9')).remaining).toBe(10)
})

test('with the option key, its keys are the keys', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const { send, limiter } = limitOn({ policy, key: () => '::ffff:9.9.9.9' })
  await send()
  warn.mockRestore()
  expect((await limiter.peek('9.9.9.9')).remaining).toBe(10)
  expect((await limiter.peek('::ffff:9.9.9.9')).remaining).toBe(9)
})
