// The page as the real server serves it. That each framework serves the same is proven over HTTP:
// see ../servers.test.ts.

import { once } from 'node:events'
import { RateLimiter, recommendedRedisOptions, redisStore, slidingWindow } from '@weir/core'
import { startNginx, startRedis } from '@weir/testkit'
import type { Page } from '@weir/testkit/page'
import { Redis } from 'ioredis'
import { afterEach, expect, test } from 'vitest'
import { fakeTime } from '../fake-time.js'
import { plain } from '../servers.js'
import { open } from './opened.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const POLICY = slidingWindow({ name: 'calls', limit: 5, window: '1h' })

const OUTCOMES = ['allowed', 'shadow_denied', 'denied', 'error'] as const

/** All decisions by outcome, according to `stats()`. */
function counted(limiter: RateLimiter): string[] {
  const { decisions } = limiter.stats()
  return OUTCOMES.map((outcome) =>
    decisions
      .filter((row) => row.outcome === outcome)
      .reduce((sum, { count }) => sum + count, 0)
      .toLocaleString('en'),
  )
}

/** The same, according to the page. */
function totals(page: Page): Promise<string[]> {
  return page.locator('.legend [data-total]').allTextContents()
}

test('the printed address opens the page, which works whole behind nginx with its defaults, at another path', async () => {
  const limiter = new RateLimiter({ name: 'served', policy: POLICY })
  closing.push(() => limiter.close())
  const { dashboard, url, close } = await plain.start({
    ...{ limiters: [limiter], actions: true, showKeys: true },
  })
  closing.push(close)
  const nginx = await startNginx(`location /named/ { proxy_pass ${new URL(url).origin}/weir/; }`)
  closing.push(() => nginx.stop())
  const address = dashboard.address(`${nginx.url}/named`)
  const { page, troubles } = await open(address, { stillAtMs: undefined })
  expect(page.url()).toBe(address.replace(/\?token=.*/, ''))
  await page.getByText('No decision yet').waitFor()
  for (let i = 0; i < 8; i += 1) await limiter.consume('<b>u42</b>')
  const key = page.locator('.key-row', { hasText: '<b>u42</b>' }).first()
  await key.waitFor()
  expect(await key.locator('.figure').textContent()).toBe('3')
  expect(await totals(page)).toEqual(counted(limiter))
  await key.click()
  const result = page.locator('.lookup-result')
  await result.getByText('0 of 5 left', { exact: true }).waitFor()
  await result.getByRole('button', { name: 'Reset…' }).click()
  await page.locator('dialog').getByRole('button', { name: 'Reset', exact: true }).click()
  await result.getByText('5 of 5 left', { exact: true }).waitFor()
  await page.locator('#log li').waitFor()
  expect(troubles()).toEqual([])
})

test('without traffic, the heading, the panels and the limiter say the same of Redis, and nothing is well before its first answer', async () => {
  const redis = await startRedis()
  closing.push(() => redis.stop())
  const client = new Redis(redis.url, recommendedRedisOptions)
  client.on('error', () => {})
  closing.push(() => client.disconnect())
  await once(client, 'ready')
  const store = redisStore(client)
  closing.push(() => store.close())
  const limiter = new RateLimiter({ name: 'quiet', store, policy: POLICY })
  closing.push(() => limiter.close())
  const time = fakeTime()
  const { dashboard, url, close } = await plain.start({ limiters: [limiter] }, time)
  closing.push(close)

  redis.kill('SIGSTOP')
  const { page } = await open(dashboard.address(url))
  const said = (): Promise<string[]> =>
    page
      .locator('.verdict, #health .pill:visible, #fleet .pill, .limiter .pill:visible')
      .allTextContents()
  const later = (): Promise<string[]> => {
    time.pass(1_000)
    return said()
  }
  await expect.poll(said).toEqual(['Asking Redis', 'asked', 'not known', 'asked'])
  const silent = [
    'Redis does not answer this page, so other processes are not known',
    ...['no answer', 'not known', 'no answer'],
  ]
  await expect.poll(later).toEqual(silent)
  redis.kill('SIGCONT')
  await expect.poll(later).toEqual(['All well', 'answers', 'enforced', 'answers'])
  redis.kill()
  await expect.poll(later).toEqual(silent)
})
