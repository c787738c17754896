import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ASSETS } from '../../src/page/assets.generated.js'

const MOST_BYTES = 49_000

test('the whole page is less than 49 kB compressed, and names no other origin', () => {
  const bodies = Object.values(ASSETS).map(({ body }) => body)
  const bytes = bodies.reduce((sum, body) => sum + gzipSync(body, { level: 9 }).length, 0)
  expect(bytes).toBeLessThan(MOST_BYTES)
  const addresses = bodies.flatMap((body) => body.match(/\bhttps?:\/\/[\w./-]+/g) ?? [])
  expect([...new Set(addresses)]).toEqual(['http://www.w3.org/2000/svg'])
})
