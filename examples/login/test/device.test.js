// @ts-check
// Which devices are known.

import { expect, test, vi } from 'vitest'
import { idOf, signed } from '../src/signed.js'
import { DAY, HOUR, pass, startApp, stopTime } from './clients.js'

const ANN = 'ann@example.org'

/** Whether a cookie makes a device known at an account, where nobody else may still guess.
 *  @param {Awaited<ReturnType<typeof startApp>>} app @param {string} account */
async function knownAt({ client }, account, cookie = '') {
  for (const address of ['192.0.2.1', '192.0.2.2'])
    for (let i = 0; i < 10; i += 1) await client(address).logIn(account, 'guess')
  const { status } = await client('198.51.100.9', cookie).logIn(account, 'right')
  return status === 200
}

/** @param {(cookie: string, text: string) => string} change */
async function isKnown(change, account = ANN, days = 0) {
  stopTime()
  const app = await startApp()
  const home = app.client('198.51.100.1')
  await home.logIn(ANN, 'right')
  const cookie = String(home.cookie)
  pass(days * DAY)
  return knownAt(app, account, change(cookie, cookie.replace('__Host-devices=', '')))
}

test.each([
  ['as it was given', (/** @type {string} */ cookie) => cookie],
  ['among others', (/** @type {string} */ cookie) => `a=b; ${cookie}; c=d`],
  [
    'behind four of other accounts',
    (/** @type {string} */ _cookie, /** @type {string} */ text) => {
      const others = ['b', 'c', 'd', 'e'].map((id) => signed('device', id, id, DAY))
      return `__Host-devices=${[...others, text].join('~')}`
    },
  ],
])('a device is known by its cookie: %s', async (_, change) => {
  expect(await isKnown(change)).toBe(true)
})

test.each([
  ['none', () => ''],
  ['an empty one', () => '__Host-devices='],
  ['made up', () => '__Host-devices=a.9999999999999.b'],
  ['not whole', (/** @type {string} */ cookie) => cookie.slice(0, -1)],
  ['of another name', (/** @type {string} */ cookie) => cookie.replace('__Host-', '')],
  [
    'with a later end',
    (/** @type {string} */ cookie) => cookie.replace(/\.(\d+)\./, (_, end) => `.${end}0.`),
  ],
  ['with another id', (/** @type {string} */ cookie) => cookie.replace(/=./, '=~')],
  [
    'behind more than a browser is given',
    (/** @type {string} */ _cookie, /** @type {string} */ text) =>
      `__Host-devices=${'~'.repeat(5)}${text}`,
  ],
  ['a link', () => `__Host-devices=${signed('link', ANN, 'x', DAY)}`],
  ['a challenge', () => `__Host-devices=${signed('challenge', ANN, 'x', DAY)}`],
])('a cookie that the service did not set makes no device known: %s', async (_, change) => {
  expect(await isKnown(change)).toBe(false)
})

test('a device is known only at its account', async () => {
  expect(await isKnown((cookie) => cookie, 'bob@example.org')).toBe(false)
})

test('a device is known for 90 days', async () => {
  expect(await isKnown((cookie) => cookie, ANN, 89)).toBe(true)
  expect(await isKnown((cookie) => cookie, ANN, 90)).toBe(false)
})

test('a shared browser is known at the last five accounts, and at each by its latest login', async () => {
  stopTime()
  const { client } = await startApp()
  const family = client('198.51.100.1')
  const people = ['a', 'b', 'c', 'd', 'e', 'f', 'b', 'f', 'f']
  for (const account of people) {
    expect((await family.logIn(account, 'right')).status).toBe(200)
    expect(String(family.cookie).split('~').length).toBeLessThanOrEqual(5)
  }
  const texts = String(family.cookie).replace('__Host-devices=', '').split('~')
  const accounts = texts.map((text) =>
    people.find((account) => idOf(text, 'device', account) !== undefined),
  )
  expect(accounts).toEqual(['f', 'b', 'e', 'd', 'c'])
})

test('each login gives the device another id, and a failed one gives none', async () => {
  stopTime()
  const { client } = await startApp()
  const home = client('198.51.100.1')
  const ids = []
  for (const password of ['right', 'right', 'wrong', 'right']) {
    const { cookie } = await home.logIn(ANN, password)
    ids.push(cookie && idOf(cookie.replace('__Host-devices=', ''), 'device', ANN))
  }
  expect(ids).toEqual([expect.any(String), expect.any(String), undefined, expect.any(String)])
  expect(new Set(ids).size).toBe(4)
})

test('a link is not valid after its time, nor at another account', async () => {
  stopTime()
  const { client, mails } = await startApp()
  const phone = client('198.51.100.2')
  await phone.ask('/login/mail', { email: ANN })
  const link = String(mails[0])
  expect((await phone.ask(link.replace('ann', 'bob'))).status).toBe(400)
  expect((await phone.ask('/login/link')).status).toBe(400)
  expect(phone.cookie).toBeUndefined()
  pass(2 * HOUR)
  expect((await phone.ask(link)).status).toBe(400)
})

test('the first of several secrets signs, and texts that the others signed stay valid', async () => {
  /** @param {string} secrets */
  async function withSecrets(secrets) {
    vi.stubEnv('SECRETS', secrets)
    vi.resetModules()
    return import('../src/signed.js')
  }
  const before = (await withSecrets('old')).signed('device', ANN, 'x', DAY)
  const now = await withSecrets('new,old')
  expect(now.idOf(before, 'device', ANN)).toBe('x')
  const after = now.signed('device', ANN, 'x', DAY)
  const later = await withSecrets('new')
  expect([before, after].map((text) => later.idOf(text, 'device', ANN))).toEqual([undefined, 'x'])
  vi.unstubAllEnvs()
})
