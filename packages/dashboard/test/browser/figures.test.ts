// The page shows the figures of the frames, to the unit.

import type { Page } from '@weir/testkit/page'
import { expect } from 'vitest'
import type { Frame, LimiterFrame } from '../../src/protocol.js'
import { totalsOf } from '../../src/totals.js'
import { busyFrames } from './fixture/frames.js'
import { shown, test } from './opened.js'

const exact = (value: number): string => value.toLocaleString('en')
const limiterOf = (page: Page, id: string) =>
  page.locator('.limiter', { has: page.getByRole('heading', { name: id, exact: true }) })
const frames = Array.from({ length: 3 }, busyFrames())
const [, before, last] = frames as [Frame, Frame, Frame]
const [search] = last.limiters as [LimiterFrame]

test('all decisions by outcome, and their rates as differences of two frames', async ({
  fixture,
}) => {
  const page = await shown(fixture, frames)
  for (const [i, limiter] of last.limiters.entries()) {
    const rows = limiterOf(page, limiter.id).locator('.legend tbody tr')
    const [totals, earlier] = [limiter, before.limiters[i] as LimiterFrame].map(totalsOf)
    for (const [at, outcome] of (
      ['allowed', 'shadow_denied', 'denied', 'error'] as const
    ).entries()) {
      const total = totals?.[outcome] ?? 0
      const cells = await rows.nth(at).locator('td').allTextContents()
      expect(cells).toEqual([exact(total - (earlier?.[outcome] ?? 0)), exact(total)])
    }
  }
})

test('each count of stats(), its policies, and the most refused keys as ranges', async ({
  fixture,
}) => {
  const page = await shown(fixture, frames)
  const inside = limiterOf(page, 'search')
  const rows = await inside
    .locator('details > .facts > div')
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)))
  const lease = search.decisions.find((row) => row.outcome === 'allowed' && row.source === 'lease')
  expect(rows).toHaveLength(search.decisions.length + 1 + 2)
  expect(Object.fromEntries(rows)).toMatchObject({
    'allowed, lease': exact(lease?.count ?? -1),
    'not asked: skipped': exact(search.undecided.skip),
    'class batch: denied': exact(search.priorities[0]?.count ?? -1),
  })

  const [burst] = search.policies
  const cells = inside.locator('tr', { hasText: 'burst' }).locator('td')
  const [, limit, denied, near, taken] = await cells.allTextContents()
  const reasons = Object.values(burst?.denials ?? {}).reduce((sum, each) => sum + each, 0)
  for (const part of ['20 in 2 s', 'factor 0.85', 'cost exceeds limit 4'])
    expect(limit).toContain(part)
  expect([denied, near, taken]).toEqual(
    [reasons, burst?.nearLimit ?? -1, burst?.units.taken ?? -1].map(exact),
  )

  const keys = inside.locator('.key-list').first().locator('.key-row')
  expect(await keys.locator('.key-name').allTextContents()).toEqual(
    search.refusedKeys.map(({ key }) => key),
  )
  expect(await keys.locator('.figure').allTextContents()).toEqual(
    search.refusedKeys.map(({ count, error }) =>
      error === 0 ? exact(count) : `${exact(count - error)}–${exact(count)}`,
    ),
  )
})

test('the time when a refused key passes is relative to its last refusal, which may be long ago', async ({
  fixture,
}) => {
  const [row] = search.refusedKeys as [LimiterFrame['refusedKeys'][number]]
  const lastMs = last.atMs - 3_600_000
  const refusedKeys = [
    { ...row, lastMs, policy: 'calls', retryAfterMs: 2_500 },
    { ...row, lastMs, policy: 'calls', retryAfterMs: null, handle: 'other' },
  ]
  const page = await shown(fixture, [{ ...last, limiters: [{ ...search, refusedKeys }] }])
  const details = page.locator('.key-list').first().locator('.key-row .muted')
  expect(await details.allTextContents()).toEqual([
    expect.stringMatching(/^calls · last .*\d\d:\d\d:\d\d, passes 2\.5 s later$/),
    expect.stringMatching(/^calls · last .*\d\d:\d\d:\d\d, passes never$/),
  ])
})

test('for each process, the sums of its limiters', async ({ fixture }) => {
  const page = await shown(fixture, frames)
  const of = ['allowed', 'denied', 'shadowDenied', 'degraded', 'errors', 'waiting'] as const
  for (const { process, limiters } of last.fleet) {
    const cells = page.locator('#fleet tr', { hasText: process }).locator('td')
    const sums = of.map((each) => limiters.reduce((all, limiter) => all + limiter[each], 0))
    expect((await cells.allTextContents()).slice(2, 8)).toEqual(sums.map(exact))
  }
})

test('for each node, its state, quantiles of the last minute, and its calls; all memory in one row', async ({
  fixture,
}) => {
  const many = Array.from({ length: 90 }, busyFrames(true))
  const { stores, ...rest } = many.at(-1) as Frame
  const [redis, memory] = stores as [Frame['stores'][number], Frame['stores'][number]]
  const two = { ...rest, stores: [redis, memory, { ...memory, id: 'memory#2' }] }
  const page = await shown(fixture, [...many.slice(0, -1), two])
  const { calls, inFlight = -1 } = redis.nodes[2] ?? {}
  const { ok = 0, timeout = 0, error = 0, notSent = 0 } = calls ?? {}
  const cells = page.locator('#health tr', { hasText: '10.0.0.13:6379' }).locator('td')
  const texts = (await cells.allTextContents()).slice(1)
  expect(texts.slice(0, 5)).toEqual([
    'away since 11:52',
    '5 ms',
    '50 ms',
    exact(ok + timeout + error + notSent),
    exact(inFlight),
  ])
  expect(texts.slice(5).map((text) => text.replace(/ \(.* new\)/, ''))).toEqual(
    [timeout, error, notSent].map(exact),
  )
  const row = page.locator('#health .store', { hasText: 'memory of this process, 2 stores' })
  expect(await row.locator('dd').allTextContents()).toEqual(['16,824', '3.86 MB', '0'])
  expect(await page.locator('#health header', { hasText: 'Cluster' }).textContent()).toContain(
    'shared by 4 processes',
  )
})

test('a row for each limiter has its state, its rate, and what was denied in the last minute', async ({
  fixture,
}) => {
  const [first, second, ...others] = last.fleet
  const off = (second?.limiters ?? []).map((one) =>
    one.name === 'login' ? { ...one, enabled: false } : one,
  )
  const fleet = [first, { ...second, limiters: off }, ...others] as Frame['fleet']
  const page = await shown(fixture, [before, { ...last, stores: [], fleet }])
  const pills = (id: string) =>
    limiterOf(page, id).locator('.badges .pill:visible').allTextContents()
  expect(await pills('login')).toEqual(['enforced', 'off in 1 of 3 processes'])
  expect(await pills('checkout')).toEqual(['shadow'])
  const [now, earlier] = [search, before.limiters[0] as LimiterFrame].map(totalsOf)
  const [allowed, denied] = (['allowed', 'denied'] as const).map(
    (of) => (now?.[of] ?? 0) - (earlier?.[of] ?? 0),
  ) as [number, number]
  const texts = await limiterOf(page, 'search').locator('.figures > *').allTextContents()
  expect(texts[0]).toBe(`${allowed + denied} per second`)
  expect(Number.parseFloat(texts[1] ?? '')).toBeCloseTo((100 * denied) / (allowed + denied), 0)
})

test('of many limiters, those whose names contain the typed text are shown, each closed', async ({
  fixture,
}) => {
  const limiters = ['search', 'searches', 'login', 'Search-EU', 'jobs'].map((id) => ({
    ...search,
    id,
  }))
  const page = await shown(fixture, [{ ...last, limiters, omitted: 3 }])
  const names = () => page.locator('.limiter:visible h3').allTextContents()
  expect((await names()).length).toBe(5)
  await page.getByLabel('Filter limiters by name').fill('search')
  expect(await names()).toEqual(['search', 'searches', 'Search-EU'])
  await page.getByLabel('Filter limiters by name').fill('none')
  await page.getByText('No limiter has a name like this.').waitFor()
  await page.getByText('3 limiters more are not shown.').waitFor()
})

test('a chart is drawn, and drawn again in the colours of the dark scheme', async ({ fixture }) => {
  const page = await shown(fixture, Array.from({ length: 60 }, busyFrames()))
  const canvas = page.locator('.inside canvas').first()
  await canvas.waitFor()
  const commonest = (): Promise<string | undefined> =>
    canvas.evaluate((element) => {
      const { width, height } = element as HTMLCanvasElement
      const context = (element as HTMLCanvasElement).getContext('2d')
      const { data } = (context as CanvasRenderingContext2D).getImageData(0, 0, width, height)
      const counts = new Map<string, number>()
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] !== 255) continue
        const colour = `${data[i]},${data[i + 1]},${data[i + 2]}`
        counts.set(colour, (counts.get(colour) ?? 0) + 1)
      }
      return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0]
    })
  await expect.poll(commonest).toBe('207,227,236')
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(commonest).toBe('31,62,76')
})
