// @ts-check
import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { expect, test } from 'vitest'

test('draft 8.2: what an account had left told a stranger of its owner. Five guesses at one, twenty from an address, no figures', async () => {
  const { url, stop } = await startExample(join(import.meta.dirname, '..'))

  /** @param {string} email @param {string} password @param {object} [more] */
  /** @param {string} email @param {string} password @param {object} [more] */
  const post = (email, password, more) =>
    fetch(`${url}/login`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email, password, ...more }),
    })

  /** @param {string} email @param {string} password @param {object} [more] */
  async function attempt(email, password, more) {
    const response = await post(email, password, more)
    const said = JSON.stringify([...response.headers]) + (await response.text())
    expect(said).not.toContain('login-account')
    expect(response.headers.get('ratelimit-policy')).toBe('"login-address";q=20;w=300')
    return response.status
  }

  // What is no JSON is no attempt that could be right, and no error of the server.
  expect((await fetch(`${url}/login`, { method: 'POST', body: 'no JSON' })).status).toBe(400)

  // Who knows the password takes nothing. The cost comes back after the answer, so one at a time.
  for (let i = 0; i < 8; i += 1) expect(await attempt('ann@example.org', 'correct horse')).toBe(200)

  const spellings = [
    'ann@example.org',
    ' Ann@Example.org',
    'ANN@EXAMPLE.ORG ',
    'ann@example.org',
    'ann@example.org',
  ]
  for (const [i, email] of spellings.entries())
    expect(await attempt(email, 'guess', { unrelated: i })).toBe(401)
  expect(await attempt('ann@example.org', 'correct horse')).toBe(429)
  // Nor when the last guess was: the wait is the whole window, whenever one asks.
  const waits = new Set()
  for (let i = 0; i < 3; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 700))
    const response = await post('ann@example.org', 'guess')
    expect(await response.text()).toContain('Try again in 900 seconds.')
    waits.add(response.headers.get('retry-after'))
  }
  expect([...waits]).toEqual(['900'])

  // Changing the account never escapes the limit of the address.
  const statuses = []
  for (let i = 0; i < 20; i += 1) statuses.push(await attempt(`user${i}@example.org`, 'guess'))
  expect(statuses.filter((status) => status === 401)).toHaveLength(14)
  expect(await stop()).toBe(0)
}, 20_000)
