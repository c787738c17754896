// @ts-check
// The server as a user starts it, with the work that challenges need by default.

import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { startRedis } from '@weir/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { solutionOf } from '../src/challenge.js'

const folder = join(import.meta.dirname, '..')
const ANN = 'ann@example.org'

/** @param {Record<string, string>} [settings] */
async function start(settings = {}) {
  const { url, stop } = await startExample(folder, settings)
  onTestFinished(async () => expect(await stop()).toBe(0))
  /** @param {object} attempt @param {string} [from] @param {string} [cookie] */
  const logIn = (attempt, from = '203.0.113.7', cookie = '') =>
    fetch(`${url}/login`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': from, Cookie: cookie },
      body: JSON.stringify(attempt),
    })
  return { url, logIn }
}

test('strangers are asked for a challenge after ten failures from an address, a known device is not, and no response says how often others have failed', async () => {
  const { logIn } = await start()
  const right = { email: ANN, password: 'correct horse' }
  const known = await logIn(right)
  expect(known.status).toBe(200)
  const cookie = String(known.headers.get('set-cookie'))
  expect(cookie).toMatch(
    /^__Host-devices=.*; Max-Age=7776000; Path=\/;.* HttpOnly; Secure; SameSite=Lax$/,
  )
  // Somebody who knows the password is not charged.
  for (let i = 0; i < 12; i += 1) expect((await logIn(right)).status).toBe(200)

  const spellings = [ANN, ' Ann@Example.org', 'ANN@EXAMPLE.ORG ', 'ａｎｎ@example.org']
  const said = new Set()
  for (let i = 0; i < 10; i += 1) {
    const response = await logIn({ email: spellings[i % 4], password: 'guess', unrelated: i })
    expect(response.status).toBe(401)
    const fields = [...response.headers.keys()].filter((name) => name !== 'date')
    said.add(JSON.stringify([fields, await response.text()]))
  }
  expect(said.size).toBe(1)
  expect([...said][0]).not.toMatch(/ratelimit|retry-after/i)

  const refused = await logIn({ email: ANN, password: 'guess' })
  expect(refused.status).toBe(429)
  const { challenge } = /** @type {{ challenge: string }} */ (await refused.json())
  const solution = solutionOf(challenge)
  expect((await logIn({ ...right, challenge, solution })).status).toBe(200)
  expect((await logIn(right, '203.0.113.7', cookie.split(';')[0])).status).toBe(200)
})

test('a request that is not a login gets 400, or 413 if it is too large, and is not charged', async () => {
  const { url, logIn } = await start()
  const headers = { 'Content-Type': 'application/json' }
  const post = async (/** @type {RequestInit} */ init) => {
    const response = await fetch(`${url}/login`, { method: 'POST', ...init })
    return [response.status, await response.text()]
  }
  const no = [400, '{"ok":false}']
  expect(await post({})).toEqual(no)
  expect(await post({ body: 'no JSON' })).toEqual(no)
  const bodies = [
    ...['', '{', 'null', '7', '[]', '{}', '{"email": "a"}', '{"email": ["a"], "password": "b"}'],
    ...['{"email": "a", "password": 7}', '{"email": "a", "password": "b", "challenge": 7}'],
    JSON.stringify({ email: 'a'.repeat(255), password: 'b' }),
  ]
  for (const body of bodies) expect(await post({ headers, body })).toEqual(no)
  const body = JSON.stringify({ email: 'a', password: 'b'.repeat(3_000) })
  expect(await post({ headers, body })).toEqual([413, '{"ok":false}'])
  for (let i = 0; i < 10; i += 1)
    expect((await logIn({ email: ANN, password: 'guess' })).status).toBe(401)
})

test('two servers on one Redis share the limits of strangers, and know the same devices', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const settings = { REDIS_URL: redis.url, SECRETS: 'a secret of both', PROXIES: 'loopback' }
  const [one, two] = await Promise.all([start(settings), start(settings)])
  const right = { email: ANN, password: 'correct horse' }
  const cookie = String((await one.logIn(right)).headers.get('set-cookie')).split(';')[0]
  // The first decisions may be made without Redis, and reported to it later.
  await expect
    .poll(async () => {
      for (let i = 0; i < 10; i += 1) {
        await one.logIn({ email: ANN, password: 'guess' }, `192.0.2.${i}`)
        await two.logIn({ email: ANN, password: 'guess' }, `192.0.3.${i}`)
      }
      return [
        (await one.logIn(right, '198.51.100.1')).status,
        (await two.logIn(right, '198.51.100.2')).status,
      ]
    })
    .toEqual([429, 429])
  expect((await two.logIn(right, '198.51.100.1', cookie)).status).toBe(200)
})
