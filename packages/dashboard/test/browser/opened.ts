// A page in a real Chromium, and all its errors.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromiumBinary } from '@weir/testkit'
import type { AxeResults } from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'

export interface Look {
  readonly scheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  readonly scale?: number
  /** The browser's time; undefined: the real one. */
  readonly atMs?: number
  readonly reducedMotion?: boolean
}

export interface Opened {
  readonly page: Page
  /** What the page's policy forbade, errors that it threw, and its requests to other origins. */
  readonly troubles: readonly string[]
}

/** Starts a browser for the tests of a file. Returns a function that opens a page in it. */
export function useBrowser(): (address: string, look?: Look) => Promise<Opened> {
  let browser: Browser | undefined
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: chromiumBinary() })
  })
  afterAll(async () => {
    await browser?.close()
  })
  return (address, look = {}) => open(browser as Browser, address, look)
}

export async function open(browser: Browser, address: string, look: Look): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: look.width ?? 1_280, height: look.height ?? 900 },
    deviceScaleFactor: look.scale ?? 1,
    colorScheme: look.scheme ?? 'light',
    reducedMotion: look.reducedMotion === true ? 'reduce' : 'no-preference',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  const page = await context.newPage()
  const troubles: string[] = []
  page.on('pageerror', (error) => troubles.push(`threw ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) troubles.push(message.text())
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (protocol !== 'data:' && origin !== new URL(address).origin)
      troubles.push(`asked for ${request.url()}`)
  })
  await page.exposeFunction('tellViolation', (what: string) => troubles.push(what))
  await page.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
    tellViolation(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile))`)
  if (look.atMs !== undefined) await page.clock.setFixedTime(look.atMs)
  await page.goto(address)
  return { page, troubles }
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/** The serious and critical findings of axe, one on each line. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  const results = (await page.evaluate('axe.run(document)')) as AxeResults
  expect(results.passes.length).toBeGreaterThan(5)
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
    )
}

/** How much wider the page is than the window; 0 if it needs no sideways scrolling. */
export function overhang(page: Page): Promise<number> {
  return page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  ) as Promise<number>
}
