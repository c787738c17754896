// The page as the real server serves it. That each framework serves the same is proven over HTTP:
// see ../servers.test.ts.

import { RateLimiter, slidingWindow } from '@weir/core'
import { startNginx } from '@weir/testkit'
import type { Page } from '@weir/testkit/page'
import { afterEach, expect, test } from 'vitest'
import { plain } from '../servers.js'
import { open } from './opened.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

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
  const limiter = new RateLimiter({
    name: 'served',
    policy: slidingWindow({ name: 'calls', limit: 5, window: '1h' }),
  })
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
