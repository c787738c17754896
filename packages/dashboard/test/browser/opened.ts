// The page in a real Chromium, and all its errors.

import { type Look, openPage, type Page } from '@weir/testkit/page'
import { START_MS } from './fixture/frames.js'

export interface Opened {
  readonly page: Page
  /** What the page's policy forbade, errors that it threw, and its requests to other origins. */
  troubles(): string[]
}

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

/** How much wider the page is than the window; 0 if it needs no sideways scrolling. */
export function overhang(page: Page): Promise<number> {
  return page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  ) as Promise<number>
}
