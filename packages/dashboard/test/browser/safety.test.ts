// Nothing from outside runs, and nothing leaves the page's origin.

import { expect } from 'vitest'
import type { LimiterFrame } from '../../src/protocol.js'
import { foundKey } from './fixture/found.js'
import { busyFrames } from './fixture/frames.js'
import { open, openAll, shown, test } from './opened.js'

test('a strict Content-Security-Policy forbids nothing that the page does, and it contacts only its origin', async ({
  fixture,
}) => {
  fixture.lookup = () => foundKey
  const next = busyFrames(true)
  for (let i = 0; i < 30; i += 1) fixture.send(next())
  const { page, troubles } = await open(fixture.address)
  await openAll(page)
  await page.locator('.picture').first().hover()
  await page.locator('.key-row').first().click()
  await page.locator('.gauge').first().waitFor()
  await page.getByRole('button', { name: 'Change pro' }).click()
  await page.locator('dialog').waitFor()
  await page.keyboard.press('Escape')
  for (const scheme of ['dark', 'light'] as const) await page.emulateMedia({ colorScheme: scheme })
  await page.setViewportSize({ width: 700, height: 800 })
  fixture.send(next())
  await expect.poll(() => page.locator('.u-wrap').first().isVisible()).toBe(true)
  expect(troubles()).toEqual([])
})

test('violations of the policy are detected', async ({ fixture }) => {
  fixture.send(busyFrames()())
  const { page, troubles } = await open(fixture.address)
  await page.evaluate(
    `document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:9/x.png' }))`,
  )
  await expect.poll(() => troubles().join()).toContain('Content Security Policy')
})

const MARKUP = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>'

test('names and keys with markup are shown as text everywhere', async ({ fixture }) => {
  const frame = busyFrames(true)()
  const marked = withTexts(frame, MARKUP)
  fixture.lookup = (request) => ({
    ...foundKey,
    ...(withTexts(foundKey, MARKUP) as object),
    limiter: request.limiter,
  })
  fixture.send(marked)
  const { page, troubles } = await open(fixture.address)
  await openAll(page)
  const key = page.locator('.key-row .key-name').first()
  await key.waitFor()
  expect(await key.textContent()).toBe(MARKUP)
  await key.click()
  await page.locator('.gauge').first().waitFor()
  expect(await page.locator('main img, main script, main iframe').count()).toBe(0)
  for (const name of [/^Switch off/, /^Change/, /^Override a key/, /^Remove/, /^Roll back/]) {
    await page.getByRole('button', { name }).first().click()
    expect(await page.locator('dialog').textContent()).toContain('<img')
    expect(await page.locator('dialog img').count()).toBe(0)
    await page.keyboard.press('Escape')
  }
  expect(await page.evaluate('window.ran')).toBeUndefined()
  expect(troubles()).toEqual([])
})

test('control characters and direction marks are shown as codes', async ({ fixture }) => {
  const frame = busyFrames()()
  const [first] = frame.limiters
  const [row] = first?.refusedKeys ?? []
  const limiters = [
    { ...first, refusedKeys: [{ ...row, key: 'a\u202eb\nc\u0007' }] } as LimiterFrame,
  ]
  const page = await shown(fixture, [{ ...frame, limiters }])
  const key = page.locator('.key-row .key-name').first()
  await key.waitFor()
  expect(await key.textContent()).toBe('a\\u202eb\\u000ac\\u0007')
})

/** The same data with each text from outside replaced. Ids stay distinct. */
function withTexts<T extends object>(data: T, text: string): T {
  const outside = ['key', 'policy', 'what', 'who', 'why', 'process', 'node', 'kind', 'name', 'id']
  const fixed = ['outcome', 'source', 'state', 'health', 'from']
  let count = 0
  const walk = (value: unknown, name: string): unknown => {
    if (typeof value === 'string' && outside.includes(name) && value !== 'prefix') {
      count += 1
      return ['id', 'process', 'policy', 'name'].includes(name) ? `${text}${count}` : text
    }
    if (Array.isArray(value)) return value.map((each) => walk(each, name))
    if (typeof value !== 'object' || value === null || fixed.includes(name)) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each, key)]))
  }
  return walk(data, '') as T
}

test('an invalid frame does not stop the page', async ({ fixture }) => {
  const next = busyFrames()
  const { page } = await open(fixture.address)
  await expect.poll(() => fixture.viewers()).toBe(1)
  fixture.sendText('event: frame\ndata: {"sequence":\n\n')
  await page.getByText('The server sent something that is not a frame.').waitFor()
  await page.clock.runFor(1_000)
  fixture.send(next())
  await page.locator('.limiter').first().waitFor()
})
