// The page as the real server serves it, in each framework.

import { RateLimiter, recommendedRedisOptions, redisStore, slidingWindow } from '@weir/core'
import { startNginx, startProxy, startRedis } from '@weir/testkit'
import { type Page, seriousFindings } from '@weir/testkit/page'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, test } from 'vitest'
import { plain, servers } from '../servers.js'
import { open } from './opened.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** What is asked of the store every two seconds. */
const SLOW = { timeout: 15_000 }
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
  return page.locator('.card .legend [data-total]').allTextContents()
}

describe.each(servers)('$name', ({ name, start }) => {
  test('the printed address opens the page, which looks keys up and resets them', async () => {
    const limiter = new RateLimiter({
      name: `page-${name.replace(/\W+/g, '-')}`,
      policy: slidingWindow({ name: 'calls', limit: 5, window: '1h' }),
    })
    const running = await start({ limiters: [limiter], actions: true, showKeys: true })
    closing.push(
      () => limiter.close(),
      () => running.close(),
    )
    const { page, troubles } = await open(running.dashboard.address(running.url))
    expect(page.url()).toBe(`${running.url}/`)
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
    expect(troubles).toEqual([])
  })

  test('without the token, the page says where it is printed', async () => {
    const running = await start({ limiters: [] })
    closing.push(() => running.close())
    const { page, troubles } = await open(`${running.url}/`)
    await page.getByText('This page needs its token').waitFor()
    expect(troubles).toEqual([])
  })
})

test.each(['/weir', '/named'])(
  'behind nginx with its defaults, at %s, the whole page works',
  async (mount) => {
    const limiter = new RateLimiter({
      name: `behind-${mount.slice(1)}`,
      policy: slidingWindow({ name: 'calls', limit: 5, window: '1h' }),
    })
    const running = await plain.start({ limiters: [limiter], actions: true })
    const { origin } = new URL(running.url)
    const nginx = await startNginx(`
    location /weir { proxy_pass ${origin}; }
    location /named/ { proxy_pass ${origin}/weir/; }`)
    closing.push(
      () => limiter.close(),
      () => running.close(),
      () => nginx.stop(),
    )
    const { page, troubles } = await open(running.dashboard.address(nginx.url + mount))
    await page.getByText('No decision yet').waitFor()
    for (let i = 0; i < 6; i += 1) await limiter.consume('u42')
    await page.locator('.key-row').first().click()
    await page.getByRole('button', { name: 'Reset…' }).click()
    await page.locator('dialog').getByRole('button', { name: 'Reset', exact: true }).click()
    await page.getByText('5 of 5 left', { exact: true }).waitFor()
    expect(await totals(page)).toEqual(counted(limiter))
    expect(troubles).toEqual([])
  },
)

test('under load and during an outage of Redis, the page shows the figures of stats(), to the unit', async () => {
  const redis = await startRedis()
  const proxy = await startProxy(redis.port)
  const client = new Redis(proxy.url, recommendedRedisOptions)
  client.on('error', () => {})
  const limiter = new RateLimiter({
    name: 'busy',
    store: redisStore(client),
    policy: slidingWindow({ name: 'calls', limit: 400, window: '1h' }),
  })
  const running = await plain.start({ limiters: [limiter] })
  closing.push(
    () => redis.stop(),
    () => proxy.stop(),
    () => client.disconnect(),
    () => limiter.close(),
    () => running.close(),
  )
  const { page, troubles } = await open(running.dashboard.address(running.url))
  await page.locator('.card').waitFor()
  let isOver = false
  const load = (async () => {
    for (let i = 0; !isOver; i += 1) {
      await Promise.all(Array.from({ length: 20 }, (_, at) => limiter.consume(`u${(i + at) % 50}`)))
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })()
  const breaker = page.locator('#health tbody .pill')
  await expect.poll(() => breaker.textContent()).toBe('closed')
  await proxy.set('refuse')
  await expect.poll(() => breaker.textContent()).not.toBe('closed')
  const fleet = page.locator('#fleet')
  await expect.poll(() => fleet.textContent(), SLOW).toContain('The store does not answer')
  await proxy.set('pass')
  await expect.poll(() => breaker.textContent()).toBe('closed')
  await expect.poll(() => fleet.textContent(), SLOW).toContain('No other process has reported')
  isOver = true
  await load
  await expect.poll(() => totals(page)).toEqual(counted(limiter))
  const degraded = limiter
    .stats()
    .decisions.reduce((sum, row) => sum + (row.degraded ? row.count : 0), 0)
  expect(degraded).toBeGreaterThan(0)
  const facts = await page
    .locator('#health .tile', { hasText: 'Decisions' })
    .locator('dd')
    .allTextContents()
  expect(facts[1]).toBe(degraded.toLocaleString('en'))
  expect(await seriousFindings(page)).toEqual([])
  expect(troubles).toEqual([])
})
