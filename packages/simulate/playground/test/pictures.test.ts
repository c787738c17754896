// Writes the picture in docs/images: `npm run pictures`.

import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { open } from './browser.js'

const MOST_BYTES = 200_000
const file = resolve(import.meta.dirname, '../../../../docs/images/playground.png')

test('the page as it first opens is a picture of few bytes', async () => {
  const { page } = await open('', { width: 1_200, height: 900 })
  const picture = await page.screenshot()
  expect(picture.length).toBeLessThanOrEqual(MOST_BYTES)
  writeFileSync(file, picture)
})
