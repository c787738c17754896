// Each state of the page explains itself, and says what to do.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { busyFrames, emptyFrame, quietLimiter, START_MS } from './fixture/frames.js'
import { type Fixture, startFixture } from './fixture/server.js'
import { open } from './opened.js'

let fixture: Fixture
beforeEach(async () => {
  fixture = await startFixture(100)
})
afterEach(() => fixture.close())

test('before the first frame: connecting, without empty parts', async () => {
  const { page } = await open(fixture.address)
  await page.getByText('Connecting…').waitFor()
  expect(await page.locator('section:visible').count()).toBe(0)
})

test('without a limiter: where to name one', async () => {
  fixture.send(emptyFrame(1))
  const { page } = await open(fixture.address)
  await page.getByText('No limiter yet').waitFor()
  expect(await page.locator('.empty code').textContent()).toContain('dashboard({ limiters')
})

test('a limiter without requests says so until it has one', async () => {
  const { page } = await open(fixture.address)
  await expect.poll(() => fixture.viewers()).toBe(1)
  const limiter = quietLimiter('search')
  fixture.send({ ...emptyFrame(1), limiters: [limiter] })
  await page.getByText('No decision yet').waitFor()
  const decisions = [{ outcome: 'allowed', source: 'store', degraded: false, count: 1 }] as const
  fixture.send({ ...emptyFrame(2), limiters: [{ ...limiter, decisions }] })
  await page.locator('.legend').waitFor()
  expect(await page.getByText('No decision yet').isVisible()).toBe(false)
})

test('a process alone says that no other has reported, or that the store cannot tell', async () => {
  const { page } = await open(fixture.address)
  await expect.poll(() => fixture.viewers()).toBe(1)
  const about = page.locator('#fleet .fleet > p')
  fixture.send(emptyFrame(1))
  await expect.poll(() => about.textContent()).toContain('No other process has reported.')
  fixture.send({ ...emptyFrame(2), isFleetSilent: true })
  await expect.poll(() => about.textContent()).toContain('The store does not answer')
  expect(await about.textContent()).not.toContain('No other process')
  fixture.send(emptyFrame(3))
  await expect.poll(() => about.textContent()).toContain('No other process has reported.')
})

test('figures older than 3 s are marked as stale, with their time, and as live when new ones come', async () => {
  const next = busyFrames()
  fixture.send(next())
  const { page } = await open(fixture.address, { stillAtMs: START_MS + 86_400_000 })
  await page.locator('.state[data-kind="live"]').waitFor()
  await page.clock.runFor(4_000)
  await page.locator('.state[data-kind="stale"]').waitFor()
  expect(await page.locator('.state').textContent()).toContain('Stale since 28 Nov 11:55:00')
  expect(await page.locator('#main').getAttribute('data-state')).toBe('stale')
  fixture.send(next())
  await page.locator('.state[data-kind="live"]').waitFor()
  expect(await page.locator('.notice').isVisible()).toBe(false)
})

test('when a server is gone, its figures stay, greyed, and the page recovers soon after the server', async () => {
  fixture.send(busyFrames()())
  const { page, troubles } = await open(fixture.address)
  await page.locator('.card').first().waitFor()
  await fixture.close()
  await page.getByText('No connection').waitFor()
  expect(await page.locator('.notice').textContent()).toMatch(/Next attempt in \d+ s\./)
  expect(await page.locator('.card').count()).toBe(3)
  expect(await page.locator('#main').getAttribute('data-state')).toBe('stale')
  await fixture.open()
  await page.clock.runFor(1_000)
  await page.locator('.state[data-kind="live"]').waitFor()
  expect(troubles()).toEqual([])
})

test('a connection that the server ends after frames is opened again at once, without a message', async () => {
  fixture.send(busyFrames()())
  const { page } = await open(fixture.address)
  await page.locator('.card').first().waitFor()
  fixture.end()
  await expect.poll(() => fixture.opened()).toBe(2)
  await page.locator('.state[data-kind="live"]').waitFor()
  expect(await page.locator('.notice').isVisible()).toBe(false)
})

test('a server that ends each connection is not asked repeatedly', async () => {
  fixture.send(busyFrames()())
  const { page } = await open(fixture.address)
  await page.locator('.card').first().waitFor()
  fixture.end()
  await expect.poll(() => fixture.opened()).toBe(2)
  await expect.poll(() => fixture.viewers()).toBe(1)
  fixture.end()
  await page.getByText('The server ended the connection.').waitFor()
  expect(fixture.opened()).toBe(2)
})

describe('refused', () => {
  test('with 401: it says where the token is printed, and retries only on request', async () => {
    fixture.refuseWith = { status: 401, problem: { code: 'no-token', message: 'open the address' } }
    const { page } = await open(fixture.address)
    await page.getByText('This page needs its token').waitFor()
    expect(await page.locator('.notice').textContent()).toContain('prints the page’s address')
    const asked = fixture.opened()
    fixture.refuseWith = undefined
    fixture.send(busyFrames()())
    await page.getByRole('button', { name: 'Try again now' }).click()
    await page.locator('.card').first().waitFor()
    expect(fixture.opened()).toBe(asked + 1)
  })

  test('with 403: it says who decides', async () => {
    fixture.refuseWith = { status: 403, problem: { code: 'not-authorized', message: 'not you' } }
    const { page } = await open(fixture.address)
    await page.getByText('You may not see this page').waitFor()
    expect(await page.locator('.notice').textContent()).toContain('not you')
  })

  test('with 503: it shows the reason, and when it tries again', async () => {
    fixture.refuseWith = {
      status: 503,
      problem: { code: 'too-many-viewers', message: '32 pages are open' },
    }
    const { page } = await open(fixture.address)
    await page.getByText('32 pages are open').waitFor()
    expect(await page.locator('.notice').textContent()).toMatch(/Next attempt in \d+ s\./)
  })
})

test('while paused, the figures stand still; afterwards none is missing', async () => {
  const next = busyFrames()
  const frames = Array.from({ length: 6 }, next)
  const { page } = await open(fixture.address)
  await expect.poll(() => fixture.viewers()).toBe(1)
  for (const frame of frames.slice(0, 3)) fixture.send(frame)
  const total = page.locator('.legend [data-total="allowed"]').first()
  await total.waitFor()
  const before = await total.textContent()
  await page.getByRole('button', { name: 'Pause' }).click()
  for (const frame of frames.slice(3)) fixture.send(frame)
  await page.locator('.state[data-kind="paused"]').waitFor()
  expect(await total.textContent()).toBe(before)
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect.poll(() => total.textContent()).not.toBe(before)
  // Six frames have five differences, a second apart.
  const chart = page.locator('.picture').first()
  expect(await chart.getAttribute('aria-label')).toContain('over 4 s')
})
