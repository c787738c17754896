// Pages in the Chromium that the globalSetup of browser.ts has started.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, inject, onTestFinished } from 'vitest'

export type { BrowserContextOptions, Page } from 'playwright-core'

/** Only for what hangs: a busy machine may take long. */
const HANGS_MS = 100_000

let connected: Promise<Browser> | undefined

/** An empty page in a context of its own, which ends with the test. */
export async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  connected ??= chromium.connect(inject('chromium'), { timeout: HANGS_MS })
  const browser = await connected
  const context = await browser.newContext(options)
  onTestFinished(() => context.close())
  context.setDefaultTimeout(HANGS_MS)
  return context.newPage()
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/** The serious and critical findings of axe, one on each line. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  const { passes, violations } = (await page.evaluate('axe.run(document)')) as AxeResults
  expect(passes.length).toBeGreaterThan(5)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
    )
}
