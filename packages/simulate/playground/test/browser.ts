// The built page, in Chromium.

import { readFileSync } from 'node:fs'
import { type Look, type Opened, openPage, type Page } from '@weir/testkit/page'
import { expect } from 'vitest'

const address = new URL('../dist/index.html', import.meta.url)
export const html: string = readFileSync(address, 'utf8')

/** Opens the page. */
export async function open(link = '', look: Look = {}): Promise<Opened> {
  const opened = await openPage(address + link, look)
  await opened.page.waitForSelector('article.card', { state: 'attached' })
  return opened
}

export interface CardFigures {
  readonly id: string
  readonly passed: string
  readonly refused: string
  readonly most: string
  readonly bound: string
}

/** The figures on the cards of a page. */
export function figuresOn(page: Page): Promise<CardFigures[]> {
  return page.$$eval('#cards article', (cards) =>
    cards.map((card) => {
      const figure = (name: string): string =>
        card.querySelector(`[data-figure="${name}"]`)?.textContent ?? ''
      return {
        id: card.id,
        passed: figure('passed'),
        refused: figure('refused'),
        most: figure('most'),
        bound: figure('bound'),
      }
    }),
  )
}

/** Waits until the page shows these figures. */
export async function expectFigures(page: Page, expected: readonly CardFigures[]): Promise<void> {
  await expect.poll(() => figuresOn(page)).toEqual(expected)
}

/** Elements that are wider than the window, except inside scrolling ones; and the page if it
 *  scrolls sideways. */
export function widerThanPage(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const hidden = '#skip, .visually-hidden, .visually-hidden *, svg *'
    const all = [...document.querySelectorAll<HTMLElement>(`body *:not(${hidden})`)]
    const wide = all.filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
    if (document.documentElement.scrollWidth > innerWidth) wide.push(document.documentElement)
    return wide.map((each) => each.outerHTML.slice(0, 120))
  })
}
