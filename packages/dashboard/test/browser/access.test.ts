// The page is accessible: by keyboard, with a screen reader, in light and dark, on a phone.

import { type Page, seriousFindings } from '@weir/testkit/page'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { foundKey } from './fixture/found.js'
import { busyFrames, emptyFrame } from './fixture/frames.js'
import { type Fixture, startFixture } from './fixture/server.js'
import { open, overhang } from './opened.js'

let fixture: Fixture
beforeEach(async () => {
  fixture = await startFixture(100)
  fixture.lookup = () => foundKey
})
afterEach(() => fixture.close())

/** @param limiters how many the page shows */
function sendBusy(mayAct = false, limiters = 3, seconds = 3): void {
  const next = busyFrames(mayAct)
  for (let i = 0; i <= seconds; i += 1) {
    const frame = next()
    fixture.send({ ...frame, limiters: frame.limiters.slice(0, limiters) })
  }
}

/** Axe needs timers. */
const GOING = { stillAtMs: undefined }

/** Brings the page into each of its states. */
const STATES: Readonly<Record<string, () => Promise<Page>>> = {
  async 'busy, with all that opens open, and a key looked up'() {
    sendBusy(true)
    const { page } = await open(fixture.address, GOING)
    await page.locator('.card .picture').first().scrollIntoViewIfNeeded()
    await page.locator('.card canvas').first().waitFor()
    await page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
    await page.locator('.key-row').first().click()
    await page.locator('.gauge').first().waitFor()
    return page
  },
  async 'with a dialog'() {
    sendBusy(true, 1)
    const { page } = await open(fixture.address, GOING)
    await page.getByRole('button', { name: 'Change pro' }).click()
    await page.locator('dialog').waitFor()
    return page
  },
  async empty() {
    fixture.send(emptyFrame(1))
    const { page } = await open(fixture.address, GOING)
    await page.getByText('No limiter yet').waitFor()
    return page
  },
  async connecting() {
    const { page } = await open(fixture.address, GOING)
    await page.getByText('Connecting…').waitFor()
    return page
  },
  async stale() {
    sendBusy(false, 1)
    const { page } = await open(fixture.address, GOING)
    await page.locator('#main[data-state="stale"]').waitFor()
    return page
  },
  async refused() {
    fixture.refuseWith = { status: 401, problem: { code: 'no-token', message: 'no token' } }
    const { page } = await open(fixture.address, GOING)
    await page.getByText('This page needs its token').waitFor()
    return page
  },
}

describe.each(Object.entries(STATES))('%s', (_, enter) => {
  test('axe finds nothing serious, in light and in dark, and 320 px need no sideways scrolling', async () => {
    const page = await enter()
    expect(await seriousFindings(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await seriousFindings(page, ['color-contrast'])).toEqual([])

    await page.setViewportSize({ width: 320, height: 640 })
    // Charts follow the window a moment later.
    await expect.poll(() => overhang(page)).toBe(0)
    // Nothing is cut off that is wider than its box.
    const wide = await page.evaluate(`[...document.querySelectorAll('main *, header *, dialog *')]
      .filter((each) => !each.closest('.hidden, canvas, .u-wrap, thead, caption, .key-row'))
      .filter((each) => each.getClientRects().length > 0 && each.getBoundingClientRect().right > 321)
      .map((each) => each.tagName + '.' + each.className)`)
    expect(wide).toEqual([])
  })
})

/** The focused element, as a screen reader names it. */
function focused(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    const { activeElement: at } = document
    return (at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent).trim()
  })()`) as Promise<string>
}

test('by keyboard alone: from the top of the page to a key, and back out of a dialog', async () => {
  sendBusy(true)
  const { page } = await open(fixture.address)
  await page.locator('.card canvas').first().waitFor()
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Skip to the figures')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Limiter')
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Key')
  await page.keyboard.type('u42')
  await page.keyboard.press('Enter')
  await page.locator('.gauge').first().waitFor()
  expect(fixture.posted.at(-1)).toEqual(['lookup', { limiter: 'search', key: 'u42' }])

  const seen: string[] = []
  for (let i = 0; i < 60 && !seen.some((name) => name.startsWith('Switch off search')); i += 1) {
    await page.keyboard.press('Tab')
    seen.push(await focused(page))
  }
  expect(seen).toContain('Look again')
  expect(seen.at(-1)).toMatch(/^Switch off search/)
  await page.keyboard.press('Enter')
  await page.locator('dialog').waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  expect(await focused(page)).toMatch(/^Switch off search/)
  expect(fixture.posted.filter(([path]) => path === 'actions')).toEqual([])
})

test('the focused element is outlined', async () => {
  sendBusy(true)
  const { page } = await open(fixture.address)
  await page.locator('.card canvas').first().waitFor()
  for (let i = 0; i < 40; i += 1) {
    await page.keyboard.press('Tab')
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    expect(outline, await focused(page)).not.toBe('none')
  }
})

test('a row of a list keeps the focus and its place when new figures come', async () => {
  const next = busyFrames()
  fixture.send(next())
  const { page } = await open(fixture.address)
  const rows = page.locator('.card').first().locator('.key-list').first().locator('.key-row')
  await rows.first().waitFor()
  await rows.nth(1).focus()
  const name = await focused(page)
  const frame = next()
  const limiters = frame.limiters.map((limiter) => ({
    ...limiter,
    refusedKeys: [...limiter.refusedKeys].reverse(),
  }))
  fixture.send({ ...frame, limiters })
  const total = page.locator('.legend td').first()
  await expect.poll(() => total.textContent()).not.toBe('–')
  expect((await focused(page)).slice(0, 8)).toBe(name.slice(0, 8))
  await page.evaluate('document.activeElement.blur()')
  fixture.send({ ...next(), limiters })
  await expect.poll(() => rows.first().textContent()).toContain('u42')
})

test('a chart has a text alternative, and its figures as a table', async () => {
  sendBusy(false, 1, 89)
  const { page } = await open(fixture.address)
  const chart = page.getByRole('img', { name: /^Chart: decisions of search/ })
  await chart.waitFor()
  expect(await chart.getAttribute('aria-label')).toMatch(
    /over 1 min 28 s\. Now [\d,.]+ allowed, [\d,.]+ denied\. At most [\d,.]+ denied\.$/,
  )
  await page.locator('.card summary', { hasText: 'As a table' }).first().click()
  const table = page.getByRole('table', { name: 'Decisions each second' })
  await table.waitFor()
  await expect.poll(() => table.locator('tbody tr').count()).toBe(9)
})

test('users who prefer reduced motion see none', async () => {
  sendBusy()
  const { page } = await open(fixture.address, { reducedMotion: true })
  await page.locator('.key-row').first().waitFor()
  const moving = await page.evaluate(`[...document.querySelectorAll('*')].filter((each) => {
    const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(each)
    return transitionDuration !== '0s' || animationName !== 'none' || scrollBehavior === 'smooth'
  }).length`)
  expect(moving).toBe(0)
})
