// Pages in the Chromium that the globalSetup of browser.ts has started. To make a page takes longer
// than most tests, so tests use a page one after another; in between, it is empty.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import {
  type Browser,
  type ConsoleMessage,
  chromium,
  type Page,
  type Request,
} from 'playwright-core'
import { expect, inject, onTestFinished } from 'vitest'

export type { Page } from 'playwright-core'

export interface Look {
  readonly scheme?: 'light' | 'dark'
  readonly reducedMotion?: boolean
  readonly width?: number
  readonly height?: number
  readonly offline?: boolean
  /** The page's clock shows this time, and its timers stand still until `page.clock` makes them
   *  run. Undefined: they are those of the machine. */
  readonly stillAtMs?: number | undefined
}

export interface Opened {
  readonly page: Page
  /** Errors that the page threw, and the errors and warnings in its console, among which are
   *  violations of its policy. */
  readonly complaints: readonly string[]
  /** The addresses that the page asked for. */
  readonly requests: readonly string[]
}

/** Only for what hangs: a busy machine may take long. */
const HANGS_MS = 100_000
/** A time that no clock reaches while it is being stopped. */
const LATER_MS = 86_400_000

let connected: Promise<Browser> | undefined
/** Pages that no test uses now. A clock that has been stopped never goes again. */
const idle: Readonly<Record<'going' | 'still', Page[]>> = { going: [], still: [] }

/** Opens an address in a page that is the test's own until the test ends. */
export async function openPage(address: string, look: Look = {}): Promise<Opened> {
  const { scheme = 'light', width = 1_280, height = 900, offline = false, stillAtMs } = look
  const clock = stillAtMs === undefined ? 'going' : 'still'
  const page = idle[clock].pop() ?? (await newPage(clock))
  const complaints: string[] = []
  const requests: string[] = []
  const threw = (error: Error): void => void complaints.push(error.stack ?? String(error))
  const wrote = (message: ConsoleMessage): void => {
    if (/error|warning/.test(message.type())) complaints.push(message.text())
  }
  const asked = (request: Request): void => void requests.push(request.url())
  page.on('pageerror', threw).on('console', wrote).on('request', asked)
  onTestFinished(async ({ task }) => {
    page.off('pageerror', threw).off('console', wrote).off('request', asked)
    // Nobody knows what a failed test leaves behind.
    if (task.result?.state !== 'pass') return page.context().close()
    await page.goto('about:blank')
    await page.context().clearCookies()
    idle[clock].push(page)
  })

  const reducedMotion = look.reducedMotion === true ? 'reduce' : 'no-preference'
  await page.emulateMedia({ colorScheme: scheme, reducedMotion })
  await page.setViewportSize({ width, height })
  await page.context().setOffline(offline)
  if (stillAtMs !== undefined) await page.clock.setFixedTime(stillAtMs)
  await page.goto(address)
  return { page, complaints, requests }
}

async function newPage(clock: keyof typeof idle): Promise<Page> {
  connected ??= chromium.connect(inject('chromium'), { timeout: HANGS_MS })
  const browser = await connected
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC' })
  context.setDefaultTimeout(HANGS_MS)
  const page = await context.newPage()
  if (clock === 'still') {
    await page.clock.install({ time: 0 })
    await page.clock.pauseAt(LATER_MS)
  }
  return page
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/**
 * The serious and critical findings of axe, one on each line.
 * @param rules the rules to check; all if there are none
 */
export async function seriousFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(axeSource)
  // Without the list of all that is right, axe takes half the time.
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const run = `axe.run(document, ${JSON.stringify(options)})`
  const { passes, violations } = (await page.evaluate(run)) as AxeResults
  expect(passes).not.toEqual([])
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
    )
}
