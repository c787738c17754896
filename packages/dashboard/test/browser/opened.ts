// The page in a real Chromium, and all its errors.

import { openPage, type Page } from '@weir/testkit/page'

export interface Look {
  readonly scheme?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  /** The browser's time; undefined: the real one. */
  readonly atMs?: number
  readonly reducedMotion?: boolean
}

export interface Opened {
  readonly page: Page
  /** What the page's policy forbade, errors that it threw, and its requests to other origins. */
  readonly troubles: readonly string[]
}

/** Opens a page, which is closed when the test ends. */
export async function open(address: string, look: Look = {}): Promise<Opened> {
  const page = await openPage({
    viewport: { width: look.width ?? 1_280, height: look.height ?? 900 },
    colorScheme: look.scheme ?? 'light',
    reducedMotion: look.reducedMotion === true ? 'reduce' : 'no-preference',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
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

/** How much wider the page is than the window; 0 if it needs no sideways scrolling. */
export function overhang(page: Page): Promise<number> {
  return page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  ) as Promise<number>
}
