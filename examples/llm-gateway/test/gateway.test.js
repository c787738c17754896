// @ts-check
// The gateway, as its customers see it.

import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { recommendedRedisOptions, redisStore } from '@weir/core'
import { startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { spanText } from '../src/headers.js'
import { limiterOn } from '../src/limits.js'

/** For a busy machine. The interval is long since each look is one of the 60 requests. */
const SELDOM = { interval: 500 }
const folder = join(import.meta.dirname, '..')

/**
 * @param {string} url @param {object} completion
 * @param {{ apiKey?: string, signal?: AbortSignal }} [options]
 */
function ask(url, completion, { apiKey = 'key-of-ann', signal } = {}) {
  const headers = { Authorization: `Bearer ${apiKey}` }
  return fetch(url, {
    ...{ method: 'POST', headers, body: JSON.stringify(completion) },
    ...(signal && { signal }),
  })
}

/** The tokens that were left before a request that costs 1 + 1. @param {string} url */
async function tokensLeft(url) {
  const response = await ask(url, { prompt: 'left', max_tokens: 1 })
  await response.text()
  return Number(response.headers.get('x-ratelimit-remaining-tokens')) + 2
}

test('the headers say what is left as those of the OpenAI API do, and each request is charged what it used, however it ends', async () => {
  const { url, stop } = await startExample(folder)
  const whole = await ask(url, { prompt: 'to be or not', max_tokens: 500 })
  expect(whole.status).toBe(200)
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '59',
    'x-ratelimit-reset-requests': expect.stringMatching(/^(1m[01]s|59s)$/),
    'x-ratelimit-limit-tokens': '10000',
    'x-ratelimit-remaining-tokens': '9497',
    'x-ratelimit-reset-tokens': expect.stringMatching(/^(1m[01]s|59s)$/),
  })
  expect(whole.headers.has('x-ratelimit-limit-money')).toBe(false)
  const events = (await whole.text()).trimEnd().split('\n\n')
  expect(events).toHaveLength(501)
  expect(events.slice(-2)).toEqual([
    'data: {"text":"not","usage":{"input":6,"output":500}}',
    'data: [DONE]',
  ])
  // Each look uses 5 tokens, as the model counts the prompt in its own way. A look settles when it
  // has ended, so its headers show only what the requests before it used.
  let expected = 10_000 - 506
  /** @param {number} used */
  const usedNow = async (used) => {
    expected -= used
    await vi.waitFor(async () => {
      const left = await tokensLeft(url)
      const isRight = left === expected
      expected -= 5
      expect(isRight || `${left} instead of ${expected + 5}`).toBe(true)
    }, SELDOM)
  }
  await usedNow(0)

  // The model failed at once, so nothing was used.
  expect((await ask(url, { prompt: 'fail' })).status).toBe(502)
  await usedNow(0)

  // The model broke off after three words: the client sees it, and pays for those.
  const broken = await ask(url, { prompt: 'crash' })
  await expect(broken.text()).rejects.toThrow()
  await usedNow(5 + 3)

  // The client leaves while the model hangs.
  const leaving = new AbortController()
  const left = await ask(url, { prompt: 'hang' }, { signal: leaving.signal })
  const reader = left.body?.getReader()
  let text = ''
  while (!text.includes('"output":3')) text += Buffer.from((await reader?.read())?.value ?? [])
  leaving.abort()
  await usedNow(4 + 3)

  // This request costs more than what is left.
  const tooMuch = await ask(url, { prompt: 'x'.repeat(40_000), max_tokens: 1 })
  expect(tooMuch.status).toBe(429)
  expect(await tooMuch.json()).toEqual({ error: { code: 'rate_limit_exceeded', type: 'tokens' } })
  expect(tooMuch.headers.has('retry-after')).toBe(false)
  for (let i = 0; i < 6; i += 1)
    await Promise.all(Array.from({ length: 10 }, () => tokensLeft(url).catch(() => 0)))
  const refused = await ask(url, { prompt: 'once more', max_tokens: 1 })
  expect(refused.status).toBe(429)
  expect(await refused.json()).toMatchObject({ error: { type: 'requests' } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)

  expect((await ask(url, { prompt: 'x' }, { apiKey: 'made-up' })).status).toBe(401)
  const wrong = [
    {},
    { prompt: 'x', max_tokens: 0 },
    { prompt: 'x', max_tokens: 1e9 },
    { prompt: 7 },
  ]
  for (const completion of [...wrong, { prompt: 'x'.repeat(70_000) }])
    expect((await ask(url, completion, { apiKey: 'key-of-bob' })).status).toBe(400)
  expect(await stop()).toBe(0)
})

test('a customer may have 20 streams open at once, and a client that leaves frees its stream', async () => {
  const { url, stop } = await startExample(folder)
  const leaving = new AbortController()
  const { signal } = leaving
  const open = await Promise.all(
    Array.from({ length: 20 }, () => ask(url, { prompt: 'hang', max_tokens: 10 }, { signal })),
  )
  expect(open.map(({ status }) => status)).toEqual(Array(20).fill(200))
  const refused = await ask(url, { prompt: 'one more', max_tokens: 1 })
  expect(refused.status).toBe(429)
  expect(await refused.json()).toEqual({ error: { code: 'rate_limit_exceeded', type: 'streams' } })
  expect((await ask(url, { prompt: 'x' }, { apiKey: 'key-of-bob' })).status).toBe(200)
  leaving.abort()
  await vi.waitFor(async () => {
    expect((await ask(url, { prompt: 'again', max_tokens: 1 })).status).toBe(200)
  }, SELDOM)
  expect(await stop()).toBe(0)
})

test('a killed gateway leaves only its estimate charged, and its successor counts on', async () => {
  const redis = await startRedis()
  const client = new Redis(redis.url, { ...recommendedRedisOptions, connectTimeout: 5_000 })
  client.on('error', () => {})
  await new Promise((done) => client.once('ready', done))
  const store = redisStore(client, { deadlineMs: 20_000, whenUnavailable: 'throw' })
  onTestFinished(async () => {
    await store.close()
    client.disconnect()
    await redis.stop()
  })
  const limiter = limiterOn(store, { requests: 60, tokens: 10_000, money: 2_000_000, streams: 20 })
  const counted = async () => (await limiter.peek('ann')).policies[1]?.remaining
  const settings = { REDIS_URL: redis.url }
  const first = await startExample(folder, settings)
  const streaming = await ask(first.url, { prompt: 'hang', max_tokens: 1_000 })
  await streaming.body?.getReader().read()
  // A gateway that has not reached Redis yet decides by itself, and reports to Redis afterwards.
  await expect.poll(counted, SELDOM).toBe(10_000 - 1_001)
  await first.kill()
  const second = await startExample(folder, settings)
  await vi.waitFor(async () => {
    expect(await tokensLeft(second.url)).toBeLessThanOrEqual(10_000 - 1_001)
  }, SELDOM)
  // Each look uses a few tokens.
  expect(await counted()).toBeGreaterThan(8_500)
  expect(await second.stop()).toBe(0)
})

test('durations are written as Go writes them', () => {
  expect([0, 0.2, 120, 999.5, 1_000, 8_001, 60_000, 360_000, 3_600_000].map(spanText)).toEqual([
    ...['0ms', '1ms', '120ms', '1s', '1s', '9s', '1m0s', '6m0s', '1h0m0s'],
  ])
})
