// @ts-check
import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { expect, test } from 'vitest'

test('the server limits requests, sends the headers, and ends on Ctrl-C', async () => {
  const { url, stop } = await startExample(join(import.meta.dirname, '..'))
  const search = await Promise.all([8, 8, 8].map(() => fetch(`${url}/search?pages=8`)))
  expect(search.map(({ status }) => status).sort()).toEqual([200, 200, 429])
  const broken = await fetch(`${url}/broken`)
  expect([broken.status, broken.headers.get('ratelimit')]).toEqual([500, '"all";r=96;t=60'])
  expect(await stop()).toBe(0)
})
