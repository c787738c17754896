// @ts-check
import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { expect, test } from 'vitest'

test('each plan has its limit', async () => {
  const { url, stop } = await startExample(join(import.meta.dirname, '..'))

  /** @param {string | undefined} key @param {number} count */
  async function passed(key, count) {
    const asks = Array.from({ length: count }, (_, i) =>
      fetch(url, { headers: { 'X-API-Key': key ?? `made-up-${i}` } }),
    )
    return (await Promise.all(asks)).filter(({ status }) => status === 200).length
  }

  expect(await passed(undefined, 10)).toBe(2)
  expect(await passed('key-of-ann', 10)).toBe(5)
  expect(await passed('key-of-bob', 30)).toBe(30)
  expect(await passed('key-of-cy', 200)).toBe(200)
  const free = await fetch(url, { headers: { 'X-API-Key': 'key-of-ann' } })
  expect(free.headers.get('ratelimit-policy')).toBe('"free";q=5;w=60, "free-daily";q=100;w=86400')
  const partner = await fetch(url, { headers: { 'X-API-Key': 'key-of-cy' } })
  expect(partner.headers.get('ratelimit')).toBeNull()
  expect(await partner.json()).toEqual({ plan: 'partner', left: 'any number' })
  expect(await stop()).toBe(0)
})
