// @ts-check
import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { expect, test } from 'vitest'

test('the server limits as with any other framework', async () => {
  const { url, stop } = await startExample(join(import.meta.dirname, '..'))
  const responses = await Promise.all(Array.from({ length: 6 }, () => fetch(url)))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429])
  const refused = responses.find(({ status }) => status === 429)
  expect(refused?.headers.get('content-type')).toBe('application/problem+json')
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await (await fetch(`${url}/health`)).text()).toBe('any number left\n')
  expect(await stop()).toBe(0)
})
