import { type Page, seriousFindings } from '@weir/testkit/page'
import { describe, expect, test } from 'vitest'
import { ALGORITHMS } from '../src/algorithms.js'
import { countText, shareText } from '../src/page/texts.js'
import { DEFAULTS, linkOf, type Settings } from '../src/settings.js'
import { type CardFigures, expectFigures, figuresOn, open, widerThanPage } from './browser.js'
import { referenceOf } from './reference.js'

/** The figures that the cards must show, from the kernels and not from the page's code. */
function expectedOf(settings: Settings): CardFigures[] {
  return ALGORITHMS.map((algorithm) => {
    const { passed, refused, most } = referenceOf(algorithm, settings)
    return {
      id: algorithm.id,
      passed: countText(passed),
      refused: shareText(refused, passed + refused),
      most: countText(most),
      bound: countText(algorithm.bound(settings)),
    }
  })
}

describe('the figures on the page are those of the kernels', () => {
  test.each([
    DEFAULTS,
    { ...DEFAULTS, traffic: 'keys', window: '1s', rate: 90, limit: 70, burst: 200 } as const,
  ])('for $traffic, $rate against $limit in $window', async (settings) => {
    const opened = await open(linkOf(settings))
    expect(await figuresOn(opened.page)).toEqual(expectedOf(settings))
    const table = await opened.page.$$eval('table.summary tbody tr', (rows) =>
      rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)),
    )
    expect(table).toEqual(
      expectedOf(settings).map(({ passed, refused, most, bound }) => [
        passed,
        refused,
        most,
        bound,
      ]),
    )
    expect(opened.complaints).toEqual([])
  })

  test('for settings made by hand', async () => {
    const opened = await open()
    const { page } = opened
    await page.getByLabel('Two keys').check()
    await page.locator('#count-limit').fill('9')
    await page.getByLabel('Burst, capacity of the buckets').press('Home')
    const settings = { ...DEFAULTS, traffic: 'keys', limit: 9, burst: 1 } as const
    await expectFigures(page, expectedOf(settings))
    await expect.poll(() => page.evaluate(() => location.hash)).toBe(linkOf(settings))
    await page.getByRole('button', { name: 'Reset' }).click()
    await expectFigures(page, expectedOf(DEFAULTS))
    expect(opened.complaints).toEqual([])
  })
})

describe('a link', () => {
  const settings: Settings = { ...DEFAULTS, traffic: 'bursts', seed: 1234, limit: 11 }

  test('shows two people the same picture', async () => {
    const [one, other] = [await open(linkOf(settings)), await open(linkOf(settings))]
    const pictures = (page: Page) => page.$eval('#results', (results) => results.innerHTML)
    expect(await pictures(one.page)).toBe(await pictures(other.page))
  })

  test('follows the settings, and restores them when it is opened', async () => {
    const opened = await open(linkOf(settings))
    await opened.page.getByRole('button', { name: 'Draw again' }).click()
    const link = linkOf({ ...settings, seed: 1235 })
    await expect.poll(() => opened.page.evaluate(() => location.hash)).toBe(link)
    const copy = await open(link)
    expect(await figuresOn(copy.page)).toEqual(await figuresOn(opened.page))
  })

  test('is followed when it is put into the address of the open page', async () => {
    const opened = await open()
    await opened.page.evaluate((link) => {
      location.hash = link
    }, linkOf(settings))
    await expectFigures(opened.page, expectedOf(settings))
    expect(await opened.page.locator('#count-limit').inputValue()).toBe('11')
  })

  test.each([
    '#limit=<img/src=x onerror=alert(1)>',
    '#limit=%3Cscript%3Ealert(1)%3C/script%3E&traffic=javascript:alert(1)',
  ])(
    'that is hostile shows the defaults and a message, and none of its own text: %s',
    async (link) => {
      const opened = await open(link)
      const { page } = opened
      expect(await figuresOn(page)).toEqual(expectedOf(DEFAULTS))
      const note = page.locator('#problems')
      expect(await note.isVisible()).toBe(true)
      const text = await page.locator('.layout').textContent()
      expect(text).not.toMatch(/alert|onerror|javascript:/)
      expect(await page.locator('#results img, #results script').count()).toBe(0)
      expect(opened.complaints).toEqual([])
      // The message disappears with the next setting.
      await page.locator('input[value="steady"]').check()
      await expect.poll(() => note.isVisible()).toBe(false)
    },
  )
})

describe('nothing leaves the page', () => {
  test('the page sends no request, and works from a file without a network', async () => {
    const opened = await open('', { offline: true })
    const { page, requests } = opened
    await page.getByLabel('Poisson').check()
    await expectFigures(page, expectedOf({ ...DEFAULTS, traffic: 'poisson' }))
    expect(requests.filter((url) => !url.startsWith('data:'))).toHaveLength(1)
    expect(opened.complaints).toEqual([])
  })
})

describe('the page is accessible', () => {
  test('axe finds nothing serious, in light and in dark', async () => {
    const { page } = await open('#traffic=keys&nonsense')
    expect(await seriousFindings(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await seriousFindings(page, ['color-contrast'])).toEqual([])
  })

  test('nothing is cut off, however narrow the window is', async () => {
    const { page } = await open()
    for (const width of [320, 360, 768, 1280]) {
      await page.setViewportSize({ width, height: 700 })
      expect(await widerThanPage(page), `${width} px`).toEqual([])
    }
  })

  test('it works without a mouse', async () => {
    const opened = await open()
    const { page } = opened
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('results')
    expect(await page.evaluate(() => location.hash)).toBe('')
    await page.reload()
    await page.waitForSelector('article.card')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowDown')
    const keys = { ...DEFAULTS, traffic: 'keys' } as const
    await expectFigures(page, expectedOf(keys))
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowRight')
    await expectFigures(page, expectedOf({ ...keys, rate: 50 }))
    // Every control is reached.
    const reached = new Set<string>()
    for (let i = 0; i < 20; i += 1) {
      await page.keyboard.press('Tab')
      reached.add(await page.evaluate(() => document.activeElement?.id ?? ''))
    }
    for (const each of ['window', 'count-limit', 'count-burst', 'copy', 'reset'])
      expect(reached).toContain(each)
  })
})
