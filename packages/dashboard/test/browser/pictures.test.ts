// Writes the pictures in docs/images, always from the same data: `npm run pictures`.

import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Look } from '@weir/testkit/page'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Frame } from '../../src/protocol.js'
import { foundKey } from './fixture/found.js'
import { busyFrames } from './fixture/frames.js'
import { type Fixture, startFixture } from './fixture/server.js'
import { open } from './opened.js'

const SECONDS = 290
const MOST_BYTES = 200_000
const PICTURES: Readonly<Record<string, Look>> = {
  'dashboard-light': { scheme: 'light', width: 1_240, height: 900 },
  'dashboard-dark': { scheme: 'dark', width: 1_240, height: 900 },
  'dashboard-phone': { scheme: 'dark', width: 390, height: 844 },
}
const images = resolve(import.meta.dirname, '../../../../docs/images')

let fixture: Fixture
let last: Frame
beforeAll(async () => {
  fixture = await startFixture(SECONDS)
  fixture.lookup = () => foundKey
  const next = busyFrames()
  for (let i = 0; i < SECONDS; i += 1) fixture.send(next())
  last = next()
})
afterAll(() => fixture.close())

test.each(Object.entries(PICTURES))('%s shows a busy fleet in few bytes', async (name, look) => {
  const { page, troubles } = await open(fixture.address, { ...look, stillAtMs: last.atMs })
  await page.locator('.limiter').first().waitFor()
  if (name !== 'dashboard-phone') {
    await page.locator('.limiter summary').first().click()
    await page.locator('.key-row').first().click()
    await page.locator('.gauge').first().waitFor()
    await page.locator('.inside canvas').first().waitFor()
    await page.evaluate('document.activeElement.blur(); scrollTo({ top: 0, behavior: "instant" })')
    await page.mouse.move(0, 0)
  }
  fixture.send(last)
  await page.locator('#main[data-state="live"]').waitFor()
  const picture = await page.screenshot({ animations: 'disabled' })
  expect(troubles()).toEqual([])
  expect(picture.length).toBeLessThanOrEqual(MOST_BYTES)
  writeFileSync(`${images}/${name}.png`, picture)
})
