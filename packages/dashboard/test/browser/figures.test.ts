// The page shows the figures of the frames, to the unit.

import type { Page } from '@weir/testkit/page'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Frame, LimiterFrame } from '../../src/protocol.js'
import { busyFrames } from './fixture/frames.js'
import { type Fixture, startFixture } from './fixture/server.js'
import { open } from './opened.js'

let fixture: Fixture
beforeEach(async () => {
  fixture = await startFixture()
})
afterEach(() => fixture.close())

const exact = (value: number): string => value.toLocaleString('en')
const sumOf = (limiter: LimiterFrame, outcome: string): number =>
  limiter.decisions
    .filter((row) => row.outcome === outcome)
    .reduce((sum, { count }) => sum + count, 0)

/** A page that got these frames. */
async function shown(frames: readonly Frame[]): Promise<Page> {
  const { page } = await open(fixture.address)
  await expect.poll(() => fixture.viewers()).toBe(1)
  for (const frame of frames) fixture.send(frame)
  await page.locator('.card').first().waitFor()
  return page
}

const cardOf = (page: Page, id: string) => page.getByRole('article', { name: id, exact: true })

describe('for each limiter, the page shows', () => {
  const next = busyFrames()
  const frames = Array.from({ length: 3 }, next)
  const last = frames.at(-1) as Frame
  const before = frames.at(-2) as Frame

  test('all decisions by outcome, and their rates as differences of two frames', async () => {
    const page = await shown(frames)
    for (const [i, limiter] of last.limiters.entries()) {
      const rows = cardOf(page, limiter.id).locator('.legend tbody tr')
      for (const [at, outcome] of ['allowed', 'shadow_denied', 'denied', 'error'].entries()) {
        const total = sumOf(limiter, outcome)
        const rate = total - sumOf(before.limiters[i] as LimiterFrame, outcome)
        const cells = rows.nth(at).locator('td')
        expect(await cells.allTextContents()).toEqual([exact(rate), exact(total)])
      }
    }
  })

  test('each count of stats()', async () => {
    const page = await shown(frames)
    const search = last.limiters[0] as LimiterFrame
    const counts = cardOf(page, 'search').locator('.counts tr')
    const rows = await counts.evaluateAll((all) =>
      all.map((row) => [...row.children].map((cell) => cell.textContent)),
    )
    const value = (what: string): string | null | undefined =>
      rows.find(([name]) => name === what)?.[1]
    const lease = search.decisions.find(
      ({ outcome, source }) => outcome === 'allowed' && source === 'lease',
    )
    expect(value('allowed, lease')).toBe(exact(lease?.count ?? -1))
    expect(value('not asked: skipped')).toBe(exact(search.undecided.skip))
    expect(value('class batch: denied')).toBe(exact(search.priorities[0]?.count ?? -1))
    expect(rows.length).toBe(search.decisions.length + 1 + 2)
  })

  test('its policies: limit, denials for any reason, keys near the limit, units', async () => {
    const page = await shown(frames)
    const [burst] = (last.limiters[0] as LimiterFrame).policies
    const cells = cardOf(page, 'search').locator('tr', { hasText: 'burst' }).locator('td')
    const [, limit, denied, near, taken] = await cells.allTextContents()
    const reasons = Object.values(burst?.denials ?? {}).reduce((sum, each) => sum + each, 0)
    expect(limit).toContain('20 in 2 s')
    expect(limit).toContain('factor 0.85')
    expect(limit).toContain('cost exceeds limit 4')
    expect([denied, near, taken]).toEqual(
      [reasons, burst?.nearLimit ?? -1, burst?.units.taken ?? -1].map(exact),
    )
  })

  test('the most refused keys as ranges that hold the true counts, in the order of the frame', async () => {
    const page = await shown(frames)
    const { refusedKeys } = last.limiters[0] as LimiterFrame
    const rows = cardOf(page, 'search').locator('.key-list').first().locator('.key-row')
    expect(await rows.locator('.key-name').allTextContents()).toEqual(
      refusedKeys.map(({ key }) => key),
    )
    expect(await rows.locator('.figure').allTextContents()).toEqual(
      refusedKeys.map(({ count, error }) =>
        error === 0 ? exact(count) : `${exact(count - error)}–${exact(count)}`,
      ),
    )
  })
})

test('the time when a refused key passes is relative to its last refusal, which may be long ago', async () => {
  const frame = busyFrames()()
  const [limiter] = frame.limiters as [LimiterFrame]
  const [row] = limiter.refusedKeys as [LimiterFrame['refusedKeys'][number]]
  const atMs = frame.atMs - 3_600_000
  const refusedKeys = [
    { ...row, lastMs: atMs, policy: 'calls', retryAfterMs: 2_500 },
    { ...row, lastMs: atMs, policy: 'calls', retryAfterMs: null, handle: 'other' },
  ]
  const page = await shown([{ ...frame, limiters: [{ ...limiter, refusedKeys }] }])
  const details = page.locator('.card .key-list').first().locator('.key-row .muted')
  expect(await details.allTextContents()).toEqual([
    expect.stringMatching(/^calls · last .*\d\d:\d\d:\d\d, passes 2\.5 s later$/),
    expect.stringMatching(/^calls · last .*\d\d:\d\d:\d\d, passes never$/),
  ])
})

test('decisions are not called shared if counters are in memory', async () => {
  const frame = busyFrames()()
  const [limiter] = frame.limiters as [LimiterFrame]
  const decisions = limiter.decisions.map((each) => ({ ...each, degraded: false }))
  const page = await shown([{ ...frame, stores: [], limiters: [{ ...limiter, decisions }] }])
  const tile = page.locator('#health .tile', { hasText: 'Decisions' })
  expect(await tile.locator('.pill').textContent()).toBe('none degraded')
})

test('whether decisions are degraded follows the last minute, not all time', async () => {
  const next = busyFrames()
  const degraded = (frame: Frame, count: number): Frame => {
    const [limiter] = frame.limiters as [LimiterFrame]
    const row = { outcome: 'allowed', source: 'local', degraded: true, count } as const
    return { ...frame, limiters: [{ ...limiter, decisions: [row] }] }
  }
  // Five before the page was opened, and one in its third second.
  const frames = Array.from({ length: 64 }, (_, i) => degraded(next(), i < 2 ? 5 : 6))
  const page = await shown(frames.slice(0, 2))
  const tile = page.locator('#health .tile', { hasText: 'Decisions' })
  const [total, pill] = [tile.locator('dd').nth(1), tile.locator('.pill')]
  const said = async () => [await total.textContent(), await pill.textContent()]
  await expect.poll(said).toEqual(['5', 'none degraded'])
  fixture.send(frames[2] as Frame)
  await expect.poll(said).toEqual(['6', 'some degraded'])
  for (const frame of frames.slice(3, 61)) fixture.send(frame)
  const chart = page.locator('.picture').first()
  await expect.poll(() => chart.getAttribute('aria-label')).toContain('over 59 s')
  expect(await said()).toEqual(['6', 'some degraded'])
  for (const frame of frames.slice(61)) fixture.send(frame)
  await expect.poll(said).toEqual(['6', 'none degraded'])
})

test('for each process of the fleet, the page shows the sums of its limiters', async () => {
  const frames = Array.from({ length: 3 }, busyFrames())
  const page = await shown(frames)
  const { fleet } = frames.at(-1) as Frame
  for (const process of fleet) {
    const cells = page.locator('#fleet tr', { hasText: process.process }).locator('td')
    const texts = (await cells.allTextContents()).slice(2, 8)
    const sum = (of: 'allowed' | 'denied' | 'shadowDenied' | 'degraded' | 'errors' | 'waiting') =>
      exact(process.limiters.reduce((all, limiter) => all + limiter[of], 0))
    expect(texts).toEqual([
      sum('allowed'),
      sum('denied'),
      sum('shadowDenied'),
      sum('degraded'),
      sum('errors'),
      sum('waiting'),
    ])
  }
})

test('for each node, the page shows its calls, its breaker, and quantiles of the last minute', async () => {
  const frames = Array.from({ length: 90 }, busyFrames())
  const page = await shown(frames)
  const node = (frames.at(-1) as Frame).stores[0]?.nodes[2]
  const cells = page.locator('#health tr', { hasText: '10.0.0.13:6379' }).locator('td')
  const { ok = 0, timeout = 0, error = 0, notSent = 0 } = node?.calls ?? {}
  expect((await cells.allTextContents()).slice(1)).toEqual([
    'half-open',
    '≤ 5 ms',
    '≤ 50 ms',
    exact(ok + timeout + error + notSent),
    exact(node?.inFlight ?? -1),
    exact(timeout),
    exact(error),
    exact(notSent),
  ])
})

test('counters that start again break the line, and no rate is below 0', async () => {
  const next = busyFrames()
  const frames = Array.from({ length: 3 }, next)
  const restarted = { ...next(), limiters: busyFrames()().limiters }
  const page = await shown([...frames, restarted])
  const rate = cardOf(page, 'search').locator('.legend tbody tr').first().locator('td').first()
  await expect.poll(() => rate.textContent()).toBe('–')
})

test('a limiter that is off elsewhere shows in how many processes, and one in shadow mode shows that', async () => {
  const frame = busyFrames()()
  const [first, second, ...others] = frame.fleet
  const off = (second?.limiters ?? []).map((one) =>
    one.name === 'login' ? { ...one, enabled: false } : one,
  )
  const fleet = [first, { ...second, limiters: off }, ...others] as Frame['fleet']
  const page = await shown([{ ...frame, fleet }])
  const badges = (id: string) => cardOf(page, id).locator('.badges .pill:visible').allTextContents()
  expect(await badges('login')).toEqual(['enforced', 'off in 1 of 3 processes'])
  expect(await badges('checkout')).toEqual(['shadow: not enforced'])
  expect(await badges('search')).toEqual(['enforced'])
})

test('of many limiters, those whose names contain the typed text are shown', async () => {
  const frame = busyFrames()()
  const limiters = ['search', 'searches', 'login', 'Search-EU', 'jobs'].map((id) => ({
    ...(frame.limiters[0] as LimiterFrame),
    id,
  }))
  const page = await shown([{ ...frame, limiters, omitted: 3 }])
  const names = () => page.locator('.card:visible h3').allTextContents()
  expect((await names()).length).toBe(5)
  await page.getByLabel('Filter limiters by name').fill('search')
  expect(await names()).toEqual(['search', 'searches', 'Search-EU'])
  await page.getByLabel('Filter limiters by name').fill('none')
  await page.getByText('No limiter has a name like this.').waitFor()
  await page.getByText('3 limiters more are not shown.').waitFor()
})

test('a chart is drawn, and drawn again in the colours of the dark scheme', async () => {
  const page = await shown(Array.from({ length: 60 }, busyFrames()))
  const canvas = page.locator('.card canvas').first()
  await canvas.waitFor()
  const colours = (): Promise<string[]> =>
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
      return [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour)
    })
  const ALLOWED = { light: '207,227,236', dark: '31,62,76' }
  await expect.poll(async () => (await colours())[0]).toBe(ALLOWED.light)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(async () => (await colours())[0]).toBe(ALLOWED.dark)
})
