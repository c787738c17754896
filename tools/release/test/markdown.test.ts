// Links in documents are found and changed, and become text if they lead nowhere.

import { describe, expect, test } from 'vitest'
import { anchorsIn, linksIn, relinked } from '../markdown.mjs'

const DOCUMENT = `# One

See [a page](a.md#x), ![a picture](b.svg), <img src="c.png"> and [two
lines](d.md). Not \`[code](e.md)\`, but [\`code[0]\`](f.md).

\`\`\`md
[no](g.md)
\`\`\`
`

test('links in prose are found, those in code are not', () => {
  expect(linksIn(DOCUMENT)).toEqual(['a.md#x', 'b.svg', 'c.png', 'd.md', 'f.md'])
})

test('a document with the same targets is unchanged', () => {
  expect(relinked(DOCUMENT, (target) => target)).toBe(DOCUMENT)
})

test('each target is replaced', () => {
  const text = relinked(DOCUMENT, (target) => `https://example.org/${target}`)
  expect(linksIn(text)).toEqual(linksIn(DOCUMENT).map((target) => `https://example.org/${target}`))
})

test('without a target, a link becomes its text and an image its description; code stays', () => {
  const text = relinked(DOCUMENT, () => undefined)
  expect(text).toContain(
    'See a page, a picture, <img src=""> and two\nlines. Not `[code](e.md)`, but `code[0]`.',
  )
  expect(text).toContain('[no](g.md)')
})

describe('anchors', () => {
  test.each([
    ['# Two words', 'two-words'],
    ['## `weir limits`: how?', 'weir-limits-how'],
    ['## A [link](x.md)', 'a-link'],
    ['## `a[0]`', 'a0'],
    ['## WEIR_NO_KEY', 'weir_no_key'],
  ])('of %s is %s', (heading, anchor) => {
    expect([...anchorsIn(`${heading}\n`)]).toEqual([anchor])
  })

  test('of a repeated heading has a number, and code has none', () => {
    expect([...anchorsIn('# A\n```sh\n# no\n```\n# A\n# A\n')]).toEqual(['a', 'a-1', 'a-2'])
  })
})
