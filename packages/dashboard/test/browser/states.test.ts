// Each state of the page explains itself, and says what to do.

import { describe, expect } from 'vitest'
import type { Frame, StoreFrame } from '../../src/protocol.js'
import { busyFrames, emptyFrame, quietLimiter, START_MS } from './fixture/frames.js'
import { open, openAll, shown, test } from './opened.js'

test('before the first frame: connecting, without empty parts', async ({ fixture }) => {
  const { page } = await open(fixture.address)
  await page.getByText('Connecting…').waitFor()
  expect(await page.locator('section:visible').count()).toBe(0)
})

test('while Redis is away, the head and the tab say so first, and nothing on the page looks well', async ({
  fixture,
}) => {
  const frame = busyFrames()()
  const [store] = frame.stores as [StoreFrame]
  const nodes = store.nodes.map((node) => {
    return { ...node, state: 'open' as const, awaySinceMs: START_MS - 130_000 }
  })
  const fleet = frame.fleet.map((each) => ({ ...each, health: 'open' as const }))
  const live = frame.live.map((each) => ({ ...each, isCurrent: false }))
  const limiters = frame.limiters.filter(({ shadow }) => !shadow)
  const away: Frame = { ...frame, stores: [{ ...store, nodes }], fleet, live, limiters, guards: [] }
  const page = await shown(fixture, [away])
  const words = 'Redis Cluster away since 11:52: each process decides on its part'
  expect(await page.locator('.verdict').textContent()).toBe(words)
  expect(await page.title()).toContain(words)
  expect(await page.locator('[data-kind="good"]:visible').allTextContents()).toEqual([])
  expect(await page.locator('.limiter .pill:visible').allTextContents()).toEqual(
    limiters.map(() => 'decides locally'),
  )
  expect(await page.locator('#live').textContent()).toContain('3 at 11:54:58, now not known')
  const closed = { ...away, sequence: 2, atMs: away.atMs + 1_000, live: [], fleet: [], stores: [] }
  fixture.send(closed)
  await expect.poll(() => page.locator('.verdict').textContent()).toBe('All well')
})

test('without a limiter: where to name one', async ({ fixture }) => {
  fixture.send(emptyFrame(1))
  const { page } = await open(fixture.address)
  await page.getByText('No limiter yet').waitFor()
  expect(await page.locator('.empty code').textContent()).toContain('dashboard({ limiters')
})

test('a limiter alone is open, and says that it had no request until it has one', async ({
  fixture,
}) => {
  const limiter = quietLimiter('search')
  fixture.send({ ...emptyFrame(1), limiters: [limiter] })
  const { page } = await open(fixture.address)
  await page.getByText('No decision yet').waitFor()
  const decisions = [{ outcome: 'allowed', source: 'store', degraded: false, count: 1 }] as const
  fixture.send({ ...emptyFrame(2), limiters: [{ ...limiter, decisions }] })
  await page.locator('.legend').waitFor()
  expect(await page.getByText('No decision yet').isVisible()).toBe(false)
})

test('a process alone says that no other has reported, or that the store cannot tell', async ({
  fixture,
}) => {
  fixture.send(emptyFrame(1))
  const { page } = await open(fixture.address)
  const about = page.locator('#fleet .panel > p')
  await expect.poll(() => about.textContent()).toContain('No other process has reported.')
  const [cluster] = busyFrames()().stores as [StoreFrame]
  const nodes = cluster.nodes.map((node) => ({ ...node, state: 'closed' as const }))
  fixture.send({ ...emptyFrame(2), stores: [{ ...cluster, nodes, answer: 'missing' }] })
  await expect.poll(() => about.textContent()).toContain('The store does not answer')
  expect(await page.locator('.verdict').textContent()).toContain('does not answer this page')
  // Which of the nodes was asked, the page does not know.
  expect(await page.locator('#health .pill').allTextContents()).toEqual([
    ...['no answer', 'not known', 'not known', 'not known'],
  ])
})

test('figures older than 3 s are marked as stale, with their time, until new ones come', async ({
  fixture,
}) => {
  const next = busyFrames()
  fixture.send(next())
  const { page } = await open(fixture.address, { stillAtMs: START_MS + 86_400_000 })
  const [verdict, state] = [page.locator('.verdict'), page.locator('#main')]
  await expect.poll(() => verdict.textContent()).toContain('away since')
  await page.clock.runFor(4_000)
  await expect.poll(() => verdict.textContent()).toBe('No figures since 28 Nov 11:55:00')
  expect(await state.getAttribute('data-state')).toBe('stale')
  fixture.send(next())
  await expect.poll(() => state.getAttribute('data-state')).toBe('live')
  expect(await page.locator('.notice').isVisible()).toBe(false)
})

test('when a server is gone, its figures stay, greyed, and the page recovers soon after the server', async ({
  fixture,
}) => {
  fixture.send(busyFrames()())
  const { page, troubles } = await open(fixture.address)
  await page.locator('.limiter').first().waitFor()
  await fixture.close()
  await page.getByText('No connection', { exact: true }).waitFor()
  expect(await page.locator('.notice').textContent()).toMatch(/Next attempt in \d+ s\./)
  expect(await page.locator('.limiter').count()).toBe(3)
  expect(await page.locator('#main').getAttribute('data-state')).toBe('stale')
  await fixture.open()
  await page.clock.runFor(1_000)
  await page.locator('#main[data-state="live"]').waitFor()
  expect(troubles()).toEqual([])
})

test('a connection that the server ends after frames is opened again at once, but not repeatedly', async ({
  fixture,
}) => {
  fixture.send(busyFrames()())
  const { page } = await open(fixture.address)
  await page.locator('.limiter').first().waitFor()
  fixture.end()
  await expect.poll(() => fixture.opened()).toBe(2)
  await expect.poll(() => fixture.viewers()).toBe(1)
  await page.locator('#main[data-state="live"]').waitFor()
  expect(await page.locator('.notice').isVisible()).toBe(false)
  fixture.end()
  await page.getByText('The server ended the connection.').waitFor()
  expect(fixture.opened()).toBe(2)
})

describe('refused', () => {
  test.for([
    [401, 'no-token', 'prints the page’s address'],
    [403, 'not-authorized', 'the option “authorize”'],
    [503, 'too-many-viewers', 'Next attempt in'],
  ] as const)(
    'with %i: it says why, and what to do',
    async ([status, code, words], { fixture }) => {
      fixture.refuseWith = { status, problem: { code, message: 'this is why' } }
      const { page } = await open(fixture.address)
      await expect.poll(() => page.locator('.notice').textContent()).toContain('this is why')
      expect(await page.locator('.notice').textContent()).toContain(words)
      const asked = fixture.opened()
      fixture.refuseWith = undefined
      fixture.send(busyFrames()())
      await page.getByRole('button', { name: 'Try again now' }).click()
      await page.locator('.limiter').first().waitFor()
      expect(fixture.opened()).toBe(asked + 1)
    },
  )
})

test('while paused, the figures and the time stand still; afterwards none is missing', async ({
  fixture,
}) => {
  const frames = Array.from({ length: 6 }, busyFrames())
  for (const frame of frames.slice(0, 3)) fixture.send(frame)
  const { page } = await open(fixture.address)
  await openAll(page)
  const total = page.locator('.legend [data-total="allowed"]').first()
  const before = await total.textContent()
  await page.getByRole('button', { name: 'Pause' }).click()
  for (const frame of frames.slice(3)) fixture.send(frame)
  await expect.poll(() => page.locator('.verdict').textContent()).toMatch(/^Paused at 11:55:02\./)
  expect(await total.textContent()).toBe(before)
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect.poll(() => total.textContent()).not.toBe(before)
  // Six frames have five differences, a second apart.
  const chart = page.locator('.picture').first()
  expect(await chart.getAttribute('aria-label')).toContain('over 4 s')
})
