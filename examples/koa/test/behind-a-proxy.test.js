// @ts-check
import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { expect, test } from 'vitest'

const folder = join(import.meta.dirname, '..')
const file = 'src/behind-a-proxy.js'

test('the client behind a trusted proxy is limited, whatever it adds to X-Forwarded-For', async () => {
  const { url, stop } = await startExample(folder, {}, file)
  const lists = [
    '203.0.113.7',
    '1.1.1.1, 203.0.113.7',
    '2.2.2.2, 203.0.113.7',
    '::ffff:203.0.113.7',
    'x, 203.0.113.7',
  ]
  for (const [i, list] of lists.entries())
    expect(await (await from(url, list)).json()).toEqual({ client: '203.0.113.7', left: 4 - i })
  expect((await from(url, '3.3.3.3, 203.0.113.7')).status).toBe(429)
  expect((await from(url, '203.0.113.8')).status).toBe(200)
  expect(await (await from(url, '2001:db8:1:2::3')).json()).toMatchObject({
    client: '2001:db8:1::/56',
  })
  expect(await stop()).toBe(0)
})

test('X-Forwarded-For is ignored unless a trusted proxy sent it', async () => {
  const { url, stop } = await startExample(folder, { PROXIES: '10.0.0.0/8' }, file)
  expect(await (await from(url, '203.0.113.7')).json()).toMatchObject({ client: '127.0.0.1' })
  expect(await stop()).toBe(0)
})

/**
 * @param {string} url
 * @param {string} list
 */
function from(url, list) {
  return fetch(url, { headers: { 'X-Forwarded-For': list } })
}
