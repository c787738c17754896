// The built file.

import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { html } from './browser.js'

const MOST_BYTES = 75_000

test(`is smaller than ${MOST_BYTES / 1_000} kB when compressed`, () => {
  expect(gzipSync(html).length).toBeLessThan(MOST_BYTES)
})

test('has one script and one style, and a policy that allows only these two', () => {
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1]
  const hashOf = (text: string | undefined): string =>
    `'sha256-${createHash('sha256').update(String(text)).digest('base64')}'`
  const scripts = [...html.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)]
  const styles = [...html.matchAll(/<style[^>]*>([\s\S]*?)<\/style>/g)]
  expect([scripts.length, styles.length]).toEqual([1, 1])
  expect(policy).toBe(
    [
      "default-src 'none'",
      `script-src ${hashOf(scripts[0]?.[1])}`,
      `style-src ${hashOf(styles[0]?.[1])}`,
      'img-src data:',
      "connect-src 'none'",
      "base-uri 'none'",
      "form-action 'none'",
    ].join('; '),
  )
  expect(html).not.toMatch(/\son\w+=["']|\sstyle=["']/)
})

test('refers to nothing outside', () => {
  const markup = html.replace(/<script>[\s\S]*<\/script>/, '')
  const references = [...markup.matchAll(/(?:\b(?:src|href|action)=|url\()["']?([^"')\s>]+)/g)]
  expect(references.map(([, where]) => String(where).slice(0, 5)).sort()).toEqual([
    '#resu',
    'data:',
  ])
})
