// A user's log on the page.

import { gzipSync } from 'node:zlib'
import { type LimiterReport, logReader, simulation } from '@weir/simulate'
import { type Page, seriousFindings } from '@weir/testkit/page'
import { describe, expect, test } from 'vitest'
import { ALGORITHMS } from '../src/algorithms.js'
import { countText, shareText } from '../src/page/texts.js'
import { randomOf } from '../src/random.js'
import { DEFAULTS, linkOf, type Settings } from '../src/settings.js'
import { address, figuresOn, open, widerThanPage } from './browser.js'

const settings: Settings = { ...DEFAULTS, limit: 8, burst: 5, window: '10s' }
const START_MS = Date.UTC(2026, 9, 10, 13, 55, 36)

/** Requests of several clients, the first of which send more. */
function requests(count: number, seed = 1): { readonly atMs: number; readonly ip: string }[] {
  const random = randomOf(seed)
  let atMs = START_MS
  return Array.from({ length: count }, () => {
    atMs += Math.floor(random() * 400)
    return { atMs, ip: `203.0.113.${1 + Math.floor(random() ** 2 * 20)}` }
  })
}

function combined(count: number, seed?: number): string {
  const lines = requests(count, seed).map(({ atMs, ip }) => {
    const [, day, month, year, time] =
      /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(new Date(atMs).toUTCString()) ?? []
    const at = `${day}/${month}/${year}:${time} +0000`
    return `${ip} - - [${at}] "GET /search?q=1 HTTP/1.1" 200 512 "-" "curl/8.5.0"`
  })
  return `${lines.join('\n')}\n`
}

function _jsonLines(count: number): string {
  const lines = requests(count).map(({ atMs, ip }) => {
    return JSON.stringify({ time: atMs / 1_000, ip, user: `u${ip.at(-1)}` })
  })
  return lines.join('\n')
}

/** The cells of the table that the page must show. */
function expectedOf(text: string, key: string, { limit, window, burst }: Settings): string[][] {
  return ALGORITHMS.map(({ id, policy }) => {
    const simulated = simulation({ policies: policy({ limit, window, burst }), key })
    const reader = logReader({}, (entry) => simulated.add(entry))
    reader.write(text)
    reader.end()
    const { requests: all, keys, runs } = simulated.report().limiters[0] as LimiterReport
    const shares = (values: readonly number[], of: number): string =>
      [
        ...new Set(values.toSorted((one, other) => one - other).map((each) => shareText(each, of))),
      ].join(' to ')
    const most = runs
      .map(({ policies }) => policies[0]?.mostInWindow)
      .toSorted((one, other) => (other?.units ?? 0) - (one?.units ?? 0))[0]
    const isBucket = /bucket|gcra/.test(id)
    return [
      shares(
        runs.map(({ refused }) => refused),
        all,
      ),
      shares(
        runs.map(({ affected }) => affected),
        keys,
      ),
      `${countText(most?.units ?? 0)}${isBucket ? ` in ${(10 * burst) / limit} s` : ''}`,
      countText(most?.bound ?? 0),
    ]
  })
}

async function give(page: Page, text: string | Buffer, name = 'access.log'): Promise<void> {
  const buffer = Buffer.from(text)
  await page.setInputFiles('#log-file', { name, mimeType: 'text/plain', buffer })
}

/** Drops a file on the page: the text, over and over. The browser keeps it once. */
async function drop(page: Page, text: string, name: string, times = 1): Promise<void> {
  await page.evaluate(
    (given) => {
      const data = new DataTransfer()
      const parts = Array<Blob>(given.times).fill(new Blob([given.text]))
      data.items.add(new File(parts, given.name))
      const event = { dataTransfer: data, bubbles: true, cancelable: true }
      document.querySelector('h1')?.dispatchEvent(new DragEvent('drop', event))
    },
    { text, name, times },
  )
}

function tableOn(page: Page): Promise<string[][]> {
  return page.$$eval('table.log-table tbody tr', (rows) =>
    rows.map((row) => [...row.querySelectorAll('td')].map((cell) => String(cell.textContent))),
  )
}

async function expectTable(page: Page, expected: readonly (readonly string[])[]): Promise<void> {
  await expect.poll(() => tableOn(page)).toEqual(expected)
}

describe('a log is read as @weir/simulate reads it in Node', () => {
  test('if it is compressed with gzip', async () => {
    const text = combined(500, 7)
    const opened = await open(linkOf(settings))
    await give(opened.page, gzipSync(text), 'access.log.gz')
    await expectTable(opened.page, expectedOf(text, 'ip', settings))
  })

  test('if it is dropped on the page, without a network', async () => {
    const text = combined(500, 3)
    const opened = await open(linkOf(settings), { offline: true })
    const { page, requests: asked, complaints } = opened
    await drop(page, text, 'dropped.log')
    await expectTable(page, expectedOf(text, 'ip', settings))
    expect(await page.locator('#log-name').textContent()).toBe('dropped.log')
    const outside = asked.filter((url) => !/^(data|blob):/.test(url))
    expect(outside).toEqual([address + linkOf(settings)].map((url) => url.replace(/#.*/, '')))
    expect(complaints).toEqual([])
  })

  test('in the Combined Log Format, and again when a limit or the key changes', async () => {
    const text = combined(400)
    const opened = await open(linkOf(settings))
    const { page } = opened
    await give(page, text)
    await expectTable(page, expectedOf(text, 'ip', settings))
    await page.locator('#count-limit').fill('4')
    await expectTable(page, expectedOf(text, 'ip', { ...settings, limit: 4 }))
    await page.locator('#log-key').fill('ip+path')
    await page.locator('#log-key').blur()
    await expect
      .poll(() => page.locator('#log-worst li').first().textContent())
      .toContain('+/search')
  })
})

describe('while a log is read', () => {
  test('the page stays responsive, and the reading can be stopped', async () => {
    const { page } = await open(linkOf(settings))
    // A gigabyte, which takes minutes to read.
    await drop(page, combined(10_000), 'access.log', 1_000)
    const stop = page.getByRole('button', { name: 'Stop' })
    await expect.poll(() => stop.isVisible()).toBe(true)
    const before = await figuresOn(page)
    await page.locator('input[value="poisson"]').check()
    await expect.poll(() => figuresOn(page)).not.toEqual(before)
    expect(await stop.isVisible()).toBe(true)
    await stop.click()
    expect(await page.locator('#log-results').textContent()).toBe('Not read to its end.')
    expect(await stop.isVisible()).toBe(false)
    await give(page, combined(100))
    await expectTable(page, expectedOf(combined(100), 'ip', settings))
  })
})

describe('a hostile log', () => {
  const EVIL = '<img src=x onerror=alert(1)>'

  test('is shown as text, without invisible characters', async () => {
    const good = requests(60).map(({ atMs }) => {
      return JSON.stringify({ time: atMs / 1_000, ip: '203.0.113.9', user: `${EVIL}\u202e\u0007` })
    })
    const text = [...good, `${EVIL}\u202e\u001b[31m`, `{"time": "${EVIL}"}`, '\u0000'].join('\n')
    const opened = await open(linkOf(settings))
    const { page } = opened
    await page.locator('#log-key').fill('user')
    await give(page, text, `${EVIL}.log`)
    await expect.poll(() => page.locator('#log-worst').count()).toBe(1)
    const shown = await page.locator('#log').textContent()
    expect(shown).toContain(EVIL)
    const invisible = [...String(shown)].filter((sign) => /[\p{Cc}\p{Cf}]/u.test(sign))
    expect(invisible.filter((sign) => sign !== '\n')).toEqual([])
    expect(await page.locator('#log img').count()).toBe(0)
    expect(await page.locator('#log-broken li').count()).toBeGreaterThan(0)
    expect(opened.complaints).toEqual([])
  })

  const noise = Buffer.from(Array.from({ length: 20_000 }, (_, i) => (i * 7_919) % 251))
  const BAD: Readonly<Record<string, Buffer>> = {
    nothing: Buffer.alloc(0),
    'bytes of a picture': noise,
    'one endless line': Buffer.alloc(300_000, 'a'),
    'only brackets': Buffer.alloc(50_000, '[{"'),
    'many blank lines': Buffer.alloc(50_000, '\n'),
    'gzip that ends early': gzipSync(combined(2_000)).subarray(0, 5_000),
    'what only begins as gzip': Buffer.from([0x1f, 0x8b, 1, 2, 3]),
    'a HAR that is none': Buffer.from('{"log": {"entries": [1, null, {"request": 7}]}}'),
    'times of no clock': Buffer.from('{"time":1e300,"ip":"a"}\n{"time":-1,"ip":"a"}\n'.repeat(50)),
  }

  test('ends with a sentence, and the next log is read', async () => {
    const { page, complaints } = await open(linkOf(settings))
    const good = combined(100)
    const said = page.locator('#log-results [role="alert"]')
    for (const [what, bytes] of Object.entries(BAD)) {
      await give(page, bytes)
      await expect.poll(() => said.count(), { message: what }).toBe(1)
      expect(await said.textContent(), what).toMatch(
        /^(There is no request in it|The log could not be read: ).*/,
      )
      await give(page, good)
      await expectTable(page, expectedOf(good, 'ip', settings))
    }
    expect(complaints).toEqual([])
  })
})

test('the result of a log is accessible, in light and in dark, and fits into 320 px', async () => {
  const { page } = await open(linkOf(settings), { width: 320, height: 640 })
  await give(page, `${combined(400)}not a line of a log\n`)
  await expect.poll(() => page.locator('#log-broken').count()).toBe(1)
  expect(await seriousFindings(page)).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await seriousFindings(page, ['color-contrast'])).toEqual([])
  expect(await widerThanPage(page)).toEqual([])
})
