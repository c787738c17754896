// The page in a real Chromium, and all its errors.

import { type Look, openPage, type Page } from '@weir/testkit/page'
import { test as base } from 'vitest'
import type { Frame } from '../../src/protocol.js'
import { START_MS } from './fixture/frames.js'
import { type Fixture, startFixture } from './fixture/server.js'

export interface Opened {
  readonly page: Page
  /** What the page's policy forbade, errors that it threw, and its requests to other origins. */
  troubles(): string[]
}

/** A test with a server that plays frames, for later viewers as well. */
export const test = base.extend<{ readonly fixture: Fixture }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of what a fixture needs
  fixture: async ({}, use) => {
    const fixture = await startFixture(100)
    await use(fixture)
    await fixture.close()
  },
})

/**
 * Opens the page. If nothing else is said, its time stands still: otherwise its figures would grow
 * old, and its connection silent, while a busy machine lets a test wait.
 */
export async function open(address: string, look: Look = {}): Promise<Opened> {
  const still = { stillAtMs: START_MS, ...look }
  const { page, complaints, requests } = await openPage(address, still)
  const isTrouble = (complaint: string): boolean => !complaint.startsWith('Failed to load resource')
  const isOutside = (url: string): boolean => {
    const { origin, protocol } = new URL(url)
    return protocol !== 'data:' && origin !== new URL(address).origin
  }
  return {
    page,
    troubles: () => [...complaints.filter(isTrouble), ...requests.filter(isOutside)],
  }
}

/** A page that got these frames, with all its limiters open. */
export async function shown(fixture: Fixture, frames: readonly Frame[]): Promise<Page> {
  for (const frame of frames) fixture.send(frame)
  const { page } = await open(fixture.address)
  await openAll(page)
  return page
}

/** Opens all limiters, and whatever else opens. */
export async function openAll(page: Page): Promise<void> {
  await page.locator('.limiter').first().waitFor()
  for (let i = 0; i < 2; i += 1)
    await page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
  await page.locator('.inside').first().waitFor()
}

/** How much wider the page is than the window; 0 if it needs no sideways scrolling. */
export function overhang(page: Page): Promise<number> {
  return page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  ) as Promise<number>
}
