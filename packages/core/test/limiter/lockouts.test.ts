// The effect of each part of the API on a lock-out: the list in docs/lock-outs.md.

import { describe, expect, onTestFinished, test } from 'vitest'
import {
  fixedWindow,
  type LockoutOptions,
  lockout,
  memoryStore,
  RateLimiter,
  type RateLimiterOptions,
} from '../../src/index.js'
import { livePoliciesIn } from '../../src/live/live-policies.js'
import { fakeClock } from '../../src/testing/index.js'
import { limitOn } from '../http/exchange.js'
import { virtualTime } from '../virtual-time.js'

const GUESSES: LockoutOptions = {
  name: 'guesses',
  limit: 3,
  window: '10m',
  block: ['1m', '5m', '1h'],
  forget: '1d',
}

function world(options: Partial<RateLimiterOptions> = {}) {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const limiter = new RateLimiter({ name: 'login', store, policy: lockout(GUESSES), ...options })
  const guess = (cost = 1) => limiter.consume('k', { cost })
  /** Attempts until a block begins. */
  const block = async (attempts = GUESSES.limit) => {
    for (let i = 0; i < attempts; i += 1) expect((await guess()).allowed).toBe(true)
  }
  const state = async () => {
    const { allowed, retryAfterMs, policies } = await limiter.peek('k')
    return { allowed, retryAfterMs, remaining: policies[0]?.remaining, ...policies[0]?.block }
  }
  return { clock, store, limiter, guess, block, state }
}

const blockedFor = (retryAfterMs: number) => ({
  allowed: false,
  reason: 'blocked',
  retryAfterMs,
  resetAfterMs: retryAfterMs,
})

test('consume: the cost of a lock-out is 0 or 1', async () => {
  const { limiter, state } = world()
  await limiter.consume('k', { cost: { guesses: 0 } })
  expect(await state()).toMatchObject({ remaining: 3 })
  await expect(limiter.consume('k', { cost: { guesses: 2 } })).rejects.toMatchObject({
    code: 'WEIR_INVALID_COST',
  })
})

test("consume: with starts: 'excess', an attempt that another policy denies begins no block, and waits for the window", async () => {
  const once = fixedWindow({ name: 'once', limit: 3, window: '1s' })
  const policy = [lockout({ ...GUESSES, starts: 'excess' }), once]
  const { clock, guess } = world({ policy })
  for (let i = 0; i < 3; i += 1) expect((await guess()).allowed).toBe(true)
  expect(await guess()).toMatchObject({ allowed: false, reason: 'limit', retryAfterMs: 600_000 })
  clock.advance(1_000)
  expect(await guess()).toMatchObject(blockedFor(60_000))
  clock.advance(60_000)
  expect((await guess()).allowed).toBe(true)
})

test('peek says what an attempt would get, and begins no block', async () => {
  const policy = lockout({ ...GUESSES, limit: 1, block: ['1h'], starts: 'excess' })
  const { clock, limiter } = world({ policy })
  await limiter.consume('k')
  expect(await limiter.peek('k')).toMatchObject(blockedFor(3_600_000))
  clock.advance(600_000)
  expect(await limiter.peek('k')).toMatchObject({ allowed: true })
})

test('a denial has the reason of the policy that denies for longest', async () => {
  const policy = [lockout(GUESSES), fixedWindow({ name: 'hour', limit: 3, window: '1h' })]
  const { limiter, block } = world({ policy })
  await block()
  const decision = await limiter.consume('k')
  expect(decision).toMatchObject({ allowed: false, reason: 'limit', retryAfterMs: 3_600_000 })
  expect(decision.policies[0]).toMatchObject({ retryAfterMs: 60_000, block: { isBlocked: true } })
})

test('penalty during a block changes nothing', async () => {
  const { limiter, state } = world()
  await limiter.block('k', '1h')
  for (let i = 0; i < 5; i += 1) await limiter.penalty('k')
  expect(await state()).toMatchObject({ retryAfterMs: 3_600_000, level: 0 })
  await limiter.unblock('k')
  expect(await state()).toMatchObject({ allowed: true, remaining: 3 })
})

describe('refund', () => {
  test('of a part of what a decision cost takes no attempt back', async () => {
    const policy = [lockout(GUESSES), fixedWindow({ name: 'hour', limit: 9, window: '1h' })]
    const { limiter, guess, state } = world({ policy })
    await limiter.refund(await guess(3), { cost: 2 })
    expect(await state()).toMatchObject({ remaining: 2 })
  })
})

test('settle to 0 refunds the attempt; to more, it stays one', async () => {
  const { limiter, guess, state } = world()
  const [first, second] = [await guess(), await guess()]
  await limiter.settle(first, 9)
  expect(await state()).toMatchObject({ remaining: 1 })
  await limiter.settle(second, 0)
  expect(await state()).toMatchObject({ remaining: 2 })
})

test('block and unblock are refused without a lock-out, and beyond its `forget`', async () => {
  const { limiter } = world({ policy: fixedWindow({ limit: 3, window: '1m' }) })
  const none = { code: 'WEIR_INVALID_POLICY' }
  await expect(limiter.block('k', '1m')).rejects.toMatchObject(none)
  await expect(limiter.unblock('k')).rejects.toMatchObject(none)
  await expect(world().limiter.block('k', '25h')).rejects.toMatchObject({
    code: 'WEIR_INVALID_DURATION',
  })
})

test('live policies change its amounts, and leave count, block and level', async () => {
  const time = virtualTime()
  const store = memoryStore({ clock: time })
  const limits = livePoliciesIn(time, store, {
    name: 'lock-outs',
    defaults: { login: lockout(GUESSES) },
  })
  onTestFinished(() => limits.close())
  const limiter = new RateLimiter({ name: 'login', store, policy: limits.policy('login') })
  for (let i = 0; i < 3; i += 1) await limiter.consume('k')
  const change = await limits.set('login', lockout({ ...GUESSES, limit: 2, block: ['2m', '3m'] }))
  expect(change.isNewCounter).toBe(false)
  await time.advance(60_000)
  for (const allowed of [true, true]) expect(await limiter.consume('k')).toMatchObject({ allowed })
  expect(await limiter.consume('k')).toMatchObject({ reason: 'blocked', retryAfterMs: 180_000 })
})

test('shadow mode counts and blocks, and refuses nobody', async () => {
  const store = memoryStore({ clock: fakeClock() })
  const { send, limiter } = limitOn({ store, policy: lockout(GUESSES), shadow: true })
  for (let i = 0; i < 5; i += 1) expect(await send()).toBe(undefined)
  expect(await limiter.peek('192.0.2.1')).toMatchObject(blockedFor(60_000))
})

test('stats count the blocks that began, by level', async () => {
  const { clock, limiter, block } = world()
  await block()
  clock.advance(60_000)
  await block()
  expect(limiter.stats().policies[0]?.blocks?.slice(0, 3)).toEqual([1, 1, 0])
})

test.each([
  ['block', []],
  ['block', ['1m', '1m']],
  ['block', ['5m', '1m']],
  ['block', '1m'],
  ['forget', '59m'],
  ['limit', -1],
  ['window', '0s'],
  ['starts', 'both'],
])('%s: %j is refused with a code', (name, value) => {
  const code = name === 'window' ? 'WEIR_INVALID_DURATION' : 'WEIR_INVALID_POLICY'
  expect(() => lockout({ ...GUESSES, [name]: value })).toThrow(expect.objectContaining({ code }))
})
