// @ts-check
// Attackers against the recipe. They solve every challenge, at no cost.

import { isWeekly } from '@weir/testkit'
import { expect, test } from 'vitest'
import { guessesAtAccount, guessesInAll } from '../src/limits.js'
import { DAY, HOUR, MINUTE, pass, solved, startApp, stopTime } from './clients.js'

/** @typedef {import('./clients.js').Guess} Guess */
/** @typedef {Awaited<ReturnType<typeof startApp>>} App */
/** @typedef {ReturnType<App['client']>} Client */

const ANN = 'ann@example.org'

/** The most in any 24 hours. @param {readonly Guess[]} guesses */
function mostInADay(guesses) {
  let most = 0
  let first = 0
  for (const [i, { atMs }] of guesses.entries()) {
    while (/** @type {Guess} */ (guesses[first]).atMs <= atMs - DAY) first += 1
    most = Math.max(most, i - first + 1)
  }
  return most
}

/** Uses every guess that an address has at the moment. @param {Client} attacker @param {() =>
 *  string} account */
async function guessOn(attacker, account) {
  for (let i = 0; i < 50; i += 1) {
    const { status, body } = await attacker.logInSolving(account(), 'guess')
    if (status === 429 && body.mail !== undefined) return
    expect(status).toBe(401)
  }
  throw new Error('it is never refused')
}

/** @param {number} count */
const addresses = (count) => Array.from({ length: count }, (_, i) => `203.${i >> 8}.${i & 255}.7`)

test('a third party with many addresses has no more guesses a day than the formula says; meanwhile the known device always gets in, and another device gets in by its challenge', async () => {
  stopTime()
  const count = isWeekly ? 1_000 : 100
  const app = await startApp()
  const home = app.client('198.51.100.1')
  expect((await home.logIn(ANN, 'right')).status).toBe(200)
  // At once, at the end of that day, and after it: units come back a sixtieth of the window late.
  for (const [i, ms] of [0, DAY - MINUTE, HOUR].entries()) {
    pass(ms)
    const all = addresses(count)
    while (all.length > 0) {
      const some = all.splice(0, 50).map((address) => app.client(address))
      await Promise.all(some.map((attacker) => guessOn(attacker, () => ANN)))
      // The owner is wrong at times, and works at an address that an attacker shares.
      const cafe = app.client('203.0.0.7', home.cookie)
      expect((await home.logIn(ANN, 'wrong')).status).toBe(401)
      expect((await cafe.logIn(ANN, 'right')).status).toBe(200)
      expect((await home.logIn(ANN, 'right')).status).toBe(200)
    }
    const phone = app.client(`198.51.100.${2 + i}`)
    expect((await phone.logIn(ANN, 'right')).body).toEqual({ challenge: expect.any(String) })
    expect((await phone.logInSolving(ANN, 'right')).status).toBe(200)
    expect((await phone.logIn(ANN, 'right')).status).toBe(200)
  }
  const guesses = app.guesses.filter(({ password }) => password === 'guess')
  expect(mostInADay(guesses)).toBe(guessesAtAccount(count))
  expect(guessesAtAccount(1_000)).toBe(3_020)
})

test('an attacker who tries many accounts has no more guesses a day than the formula says', async () => {
  stopTime()
  const app = await startApp()
  const attackers = addresses(4).map((address) => app.client(address))
  let account = 0
  // The units of an hour come back within a minute after it.
  for (let i = 0; i < 30; i += 1) {
    await Promise.all(
      attackers.map((attacker) => guessOn(attacker, () => `user${account++}@example.org`)),
    )
    pass(HOUR + MINUTE)
  }
  expect(mostInADay(app.guesses)).toBe(guessesInAll(4))
  expect(guessesInAll(1_000)).toBe(250_000)
})

test('an IPv6 /64 counts as one address, and X-Forwarded-For is ignored beyond the trusted proxy', async () => {
  stopTime()
  const { client, guesses } = await startApp()
  for (let i = 0; i < 40; i += 1) {
    await client(`2001:db8:1:2::${i.toString(16)}`).logInSolving(ANN, 'guess')
    await client(`192.0.2.${i}, 2001:db8:1:2:${i}::1`).logInSolving(ANN, 'guess')
  }
  expect(guesses.length).toBeLessThanOrEqual(guessesAtAccount(1))
})

/** @param {Client} device @param {number} untilMs */
async function takeAll(device, untilMs) {
  while (Date.now() < untilMs) {
    const { status, retryAfter } = await device.logIn(ANN, 'guess')
    if (status === 429) pass(1_000 * Number(retryAfter))
  }
}

/** @param {Client} device @param {number} guesses */
async function take(device, guesses) {
  for (let i = 0; i < guesses; i += 1) expect((await device.logIn(ANN, 'guess')).status).toBe(401)
}

test.each([
  {
    strategy: 'takes what it can',
    most: 20,
    run: /** @param {Client} device */ (device) => takeAll(device, Date.now() + 30 * DAY),
  },
  {
    strategy: 'stops below the limit',
    most: 4,
    run: /** @param {Client} device */ async (device) => {
      for (let i = 0; i < 30; i += 1) {
        await take(device, 4)
        pass(DAY)
      }
    },
  },
  {
    strategy:
      'stops below the limit until the window is over, then takes what it can until that is forgotten',
    most: 23,
    run: /** @param {Client} device */ async (device) => {
      for (let i = 0; i < 3; i += 1) {
        await take(device, 1)
        pass(DAY - 1_000)
        await take(device, 3)
        pass(1_000)
        await takeAll(device, Date.now() + 2 * HOUR)
        pass(9 * DAY)
      }
    },
  },
])(
  'a copied cookie has no more guesses a day than the formula says if its thief $strategy, and a link by mail lets the owner in',
  async ({ most, run }) => {
    stopTime()
    const { client, guesses, mails } = await startApp()
    const home = client('198.51.100.1')
    await home.logIn(ANN, 'right')
    const thief = client('203.0.0.7', home.cookie)
    await run(thief)
    expect(mostInADay(guesses)).toBe(most)
    expect(most).toBeLessThanOrEqual(guessesAtAccount(0, 1) - guessesAtAccount(0))
    // With the same id, the owner is left with what the thief has not used.
    await takeAll(thief, Date.now() + 1)
    for (let i = 0; i < 5; i += 1) await thief.logIn(ANN, 'guess')
    expect(await home.logIn(ANN, 'right')).toMatchObject({
      status: 429,
      body: { mail: '/login/mail' },
    })
    expect((await home.ask('/login/mail', { email: ANN })).status).toBe(202)
    expect((await home.ask(/** @type {string} */ (mails.at(-1)))).status).toBe(303)
    expect((await home.logIn(ANN, 'right')).status).toBe(200)
    // After another login the ids differ.
    for (let i = 0; i < 5; i += 1) await thief.logIn(ANN, 'guess')
    expect((await home.logIn(ANN, 'right')).status).toBe(200)
  },
)

test('a thief with a copied cookie has no more guesses a day than the formula says, even at random times', async () => {
  stopTime()
  const { client, guesses } = await startApp()
  // Numbers that are the same in each run: the upper bits of Knuth's MMIX generator.
  let state = 1n
  const random = () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n
    return Number(state >> 32n) / 2 ** 32
  }
  const waits = [MINUTE, 10 * MINUTE, HOUR, DAY, 7 * DAY]
  const home = client('198.51.100.1')
  let most = 0
  for (let i = 0; i < (isWeekly ? 30 : 4); i += 1) {
    await home.logIn(ANN, 'right')
    for (let j = 0; j < 40; j += 1) {
      for (let k = Math.floor(6 * random()); k >= 0; k -= 1) await home.logIn(ANN, 'guess')
      pass(/** @type {number} */ (waits[Math.floor(random() ** 2 * waits.length)]))
    }
    most = Math.max(most, mostInADay(guesses.splice(0)))
  }
  expect(most).toBeGreaterThan(15)
  expect(most).toBeLessThanOrEqual(guessesAtAccount(0, 1) - guessesAtAccount(0))
})

test('opening a link again gives no new lock-out', async () => {
  stopTime()
  const { client, guesses, mails } = await startApp()
  const reader = client('203.0.0.7')
  await reader.ask('/login/mail', { email: ANN })
  for (let i = 0; i < 10; i += 1) {
    await reader.ask(/** @type {string} */ (mails[0]))
    await reader.logIn(ANN, 'guess')
  }
  expect(guesses).toHaveLength(5)
})

test('however often links are requested, the account gets one mail an hour and always has a valid link', async () => {
  stopTime()
  const { client, mails } = await startApp()
  for (const [minute, address] of addresses(360).entries()) {
    expect((await client(address).ask('/login/mail', { email: ANN })).status).toBe(202)
    if (minute % 45 === 0) {
      const phone = client('198.51.100.2')
      expect((await phone.ask('/login/mail', { email: ANN })).status).toBe(202)
      expect((await phone.ask(/** @type {string} */ (mails.at(-1)))).status).toBe(303)
      expect((await phone.logIn(ANN, 'right')).status).toBe(200)
    }
    pass(MINUTE)
  }
  expect(mails).toHaveLength(6)
})

const SPELLINGS = [ANN, ' Ann@Example.org', 'ANN@EXAMPLE.ORG ', 'ａｎｎ@example.org']

/** Uses up what clients without a challenge have at the account, in several spellings of its name.
 *  @param {App} app */
async function useUp({ client, guesses }) {
  for (let i = 0; i < 20; i += 1)
    await client(`192.0.2.${i}`).logIn(/** @type {string} */ (SPELLINGS[i % 4]), 'guess')
  guesses.splice(0)
}

test('a solved challenge is charged: of 200 guesses from an address, each with a solution, three reach the password', async () => {
  stopTime()
  const app = await startApp()
  await useUp(app)
  const attacker = app.client('203.0.0.7')
  for (let i = 0; i < 200; i += 1) {
    // The challenge is requested from another address, as if it were solved there.
    const { body } = await app.client('198.51.100.2').logIn(ANN, 'guess')
    await attacker.logIn(ANN, 'guess', solved(body.challenge))
  }
  expect(app.guesses).toHaveLength(3)
})

test('a challenge is valid for one guess, and a client that sends it again gets another one', async () => {
  stopTime()
  const app = await startApp()
  await useUp(app)
  const { body } = await app.client('203.0.0.7').logIn(ANN, 'guess')
  const one = solved(body.challenge)
  const answers = await Promise.all(
    addresses(20).map((address) => app.client(address).logIn(ANN, 'guess', one)),
  )
  expect(app.guesses).toHaveLength(1)
  expect(answers.filter(({ body: { challenge } }) => challenge !== undefined)).toHaveLength(19)
})

test('a challenge that is not solved is charged, and its guess does not reach the password check', async () => {
  stopTime()
  const app = await startApp()
  await useUp(app)
  const attacker = app.client('203.0.0.7')
  const seen = []
  for (let i = 0; i < 11; i += 1) {
    const { body } = await attacker.logIn(`user${i}`, 'right', { challenge: `made up ${i}` })
    seen.push(Object.keys(body)[0])
  }
  expect(seen).toEqual([...Array.from({ length: 10 }, () => 'challenge'), 'mail'])
  expect(app.checks.count).toBe(20)
})

test('a client that is refused does not learn when others have failed', async () => {
  stopTime()
  const app = await startApp()
  const stranger = app.client('203.0.0.7')
  const waits = new Set()
  for (let i = 0; i < 20; i += 1) {
    await app.client(`192.0.2.${i}`).logIn(ANN, 'guess')
    pass(MINUTE)
  }
  for (let i = 0; i < 3; i += 1) {
    const { body, retryAfter } = await stranger.logIn(ANN, 'guess')
    waits.add(retryAfter)
    await stranger.logIn(ANN, 'guess', solved(body.challenge))
    pass(MINUTE)
  }
  const { body } = await stranger.logIn(ANN, 'guess')
  waits.add((await stranger.logIn(ANN, 'guess', solved(body.challenge))).retryAfter)
  expect([...waits]).toEqual([String(DAY / 1_000)])
})
