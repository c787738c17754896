// The page is accessible: by keyboard, with a screen reader, in light and dark, on a phone.

import { type Page, seriousFindings } from '@weir/testkit/page'
import { describe, expect } from 'vitest'
import { foundKey } from './fixture/found.js'
import { busyFrames, emptyFrame } from './fixture/frames.js'
import type { Fixture } from './fixture/server.js'
import { open, openAll, overhang, shown, test } from './opened.js'

/** @param limiters how many the page shows */
function sendBusy(fixture: Fixture, mayAct = false, limiters = 3, seconds = 3): void {
  fixture.lookup = () => foundKey
  const next = busyFrames(mayAct)
  for (let i = 0; i <= seconds; i += 1) {
    const frame = next()
    fixture.send({ ...frame, limiters: frame.limiters.slice(0, limiters) })
  }
}

/** Axe needs timers. */
const GOING = { stillAtMs: undefined }

/** Brings the page into each of its states. */
const STATES: Readonly<Record<string, (fixture: Fixture) => Promise<Page>>> = {
  async 'busy, with all that opens open, and a key looked up'(fixture) {
    sendBusy(fixture, true)
    const { page } = await open(fixture.address, GOING)
    await openAll(page)
    await page.locator('.key-row').first().click()
    await page.locator('.gauge').first().waitFor()
    return page
  },
  async 'with a dialog'(fixture) {
    sendBusy(fixture, true, 1)
    const { page } = await open(fixture.address, GOING)
    await page.getByRole('button', { name: 'Change pro' }).click()
    await page.locator('dialog').waitFor()
    return page
  },
  async empty(fixture) {
    fixture.send(emptyFrame(1))
    const { page } = await open(fixture.address, GOING)
    await page.getByText('No limiter yet').waitFor()
    return page
  },
  async connecting(fixture) {
    const { page } = await open(fixture.address, GOING)
    await page.getByText('Connecting…').waitFor()
    return page
  },
  async stale(fixture) {
    sendBusy(fixture, false, 1)
    const { page } = await open(fixture.address, GOING)
    await page.locator('#main[data-state="stale"]').waitFor()
    return page
  },
  async refused(fixture) {
    fixture.refuseWith = { status: 401, problem: { code: 'no-token', message: 'no token' } }
    const { page } = await open(fixture.address, GOING)
    await page.getByText('This page needs its token').waitFor()
    return page
  },
}

describe.each(Object.entries(STATES))('%s', (_, enter) => {
  test('axe finds nothing serious, in light and in dark, and 320 px need no sideways scrolling', async ({
    fixture,
  }) => {
    const page = await enter(fixture)
    expect(await seriousFindings(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await seriousFindings(page, ['color-contrast'])).toEqual([])

    await page.setViewportSize({ width: 320, height: 640 })
    // Charts follow the window a moment later.
    await expect.poll(() => overhang(page)).toBe(0)
    // Nothing is cut off that is wider than its box.
    const wide = await page.evaluate(`[...document.querySelectorAll('main *, header *, dialog *')]
      .filter((each) => !each.closest('.hidden, canvas, .u-wrap, thead, caption, .key-row, .places'))
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

test('by keyboard alone: a limiter opens, a key is looked up, and a dialog left again', async ({
  fixture,
}) => {
  sendBusy(fixture, true)
  const { page } = await open(fixture.address)
  await page.locator('.limiter').first().waitFor()
  /** Presses Tab until the focus is there; whatever has it on the way is outlined. */
  const tabTo = async (name: RegExp): Promise<void> => {
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press('Tab')
      const at = await focused(page)
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
      expect(outline, at).not.toBe('none')
      if (name.test(at)) return
    }
    expect.fail(`no way to ${name}`)
  }
  await tabTo(/^Skip to the figures/)
  await page.keyboard.press('Enter')
  await tabTo(/^search/)
  await page.keyboard.press('Enter')
  await page.locator('.inside canvas').waitFor()
  await tabTo(/^crawler-7/)
  await page.keyboard.press('Enter')
  await page.locator('.gauge').first().waitFor()
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Shift+Tab')
  expect(await focused(page)).toBe('Key')
  await page.keyboard.type('u42')
  await page.keyboard.press('Enter')
  const asked = { limiter: 'search', key: 'u42' }
  await expect.poll(() => fixture.posted.at(-1)).toEqual(['lookup', asked])
  await tabTo(/^Change pro/)
  await page.keyboard.press('Enter')
  await page.locator('dialog').waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  expect(await focused(page)).toMatch(/^Change pro/)
  expect(fixture.posted.filter(([path]) => path === 'actions')).toEqual([])
})

test('a row of a list keeps the focus and its place when new figures come', async ({ fixture }) => {
  const next = busyFrames()
  const page = await shown(fixture, [next()])
  const rows = page.locator('.inside').first().locator('.key-list').first().locator('.key-row')
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

test('a chart has a text alternative', async ({ fixture }) => {
  sendBusy(fixture, false, 1, 89)
  const { page } = await open(fixture.address)
  const chart = page.getByRole('img', { name: /^Chart: decisions of search/ })
  await chart.waitFor()
  expect(await chart.getAttribute('aria-label')).toMatch(
    /over 1 min 28 s\. Now [\d,.]+ allowed, [\d,.]+ denied\. At most [\d,.]+ denied\.$/,
  )
})

test('users who prefer reduced motion see none', async ({ fixture }) => {
  sendBusy(fixture)
  const { page } = await open(fixture.address, { reducedMotion: true })
  await openAll(page)
  const moving = await page.evaluate(`[...document.querySelectorAll('*')].filter((each) => {
    const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(each)
    return transitionDuration !== '0s' || animationName !== 'none' || scrollBehavior === 'smooth'
  }).length`)
  expect(moving).toBe(0)
})
