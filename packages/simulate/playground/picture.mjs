// Writes docs/images/playground.png: the page when it is first opened. Run `pnpm picture` after a
// build.
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { launchChromium } from '@weir/testkit/browser'

const page = new URL('dist/index.html', import.meta.url)
const picture = fileURLToPath(new URL('../../../docs/images/playground.png', import.meta.url))

const browser = await launchChromium()
try {
  const viewport = { width: 1200, height: 900 }
  const tab = await browser.newPage({ viewport, colorScheme: 'light' })
  await tab.goto(page.href)
  await tab.waitForSelector('article.card')
  await tab.screenshot({ path: picture })
} finally {
  await browser.close()
}
console.log(`docs/images/playground.png: ${Math.ceil(statSync(picture).size / 1_000)} kB`)
