// @ts-check
// Who may fail how often, and how many guesses that leaves. A log-in that succeeds takes nothing.
//
//   a known device            a lock-out of its own, in which nobody else counts
//   anybody else              10 failures an hour from an address, 20 a day at an account; then
//   who solves a challenge    3 a day from an address at an account, 10 from an address; then
//   who reads the mail of it  a link, once an hour, which makes a device known

import { addressKey, lockout, rateLimit, slidingWindow } from '@weir/express'
import { CHALLENGE_MS, newChallenge } from './challenge.js'

/** @typedef {import('express').Response} Response */

// A home has 64 bits of IPv6 at least. Whoever has 48 counts as 65,536 addresses: see the recipe.
const IPV6 = { ipv6Prefix: 64 }
const clientKey = addressKey(IPV6)

const perDevice = lockout({
  name: 'device',
  limit: 5,
  window: '1d',
  block: ['1m', '10m', '1h', '1d'],
  forget: '7d',
})
const fromAddress = slidingWindow({ name: 'address', limit: 10, window: '1h' })
const atAccount = slidingWindow({ name: 'account', limit: 20, window: '1d' })
const solved = slidingWindow({ name: 'solved', limit: 10, window: '1d' })
const solvedAtAccount = slidingWindow({ name: 'solved-at-account', limit: 3, window: '1d' })
const once = slidingWindow({ name: 'once', limit: 1, window: CHALLENGE_MS })
const mailsFrom = slidingWindow({ name: 'mails-from', limit: 10, window: '1h' })
const mailsTo = slidingWindow({ name: 'mails-to', limit: 1, window: '1h' })

/** Of one device in any 24 hours: a count that stops before it starts a block, and four that start
 *  one, as three of the blocks end within a day. */
const OF_DEVICE = 4 + 4 * 5

/**
 * The most guesses at one account in any 24 hours, of somebody who has so many addresses, solves
 * every challenge, and has copied the cookies of so many devices.
 * @param {number} addresses
 * @param {number} [devices]
 */
export function guessesAtAccount(addresses, devices = 0) {
  return atAccount.limit + solvedAtAccount.limit * addresses + OF_DEVICE * devices
}

/** The same, at all accounts together and without a known device. @param {number} addresses */
export function guessesInAll(addresses) {
  return (24 * fromAddress.limit + solved.limit) * addresses
}

/**
 * The handlers before the password check. Each takes from `res.locals` what was read of the
 * request.
 * @param {import('@weir/express').Store} store
 */
export function limitsOn(store) {
  /** @type {import('@weir/express').RateLimitSettings} */
  const settings = {
    store,
    // Nobody is to learn how often others have failed.
    headers: false,
    refundWhen: (_req, { status, finished }) => finished && status < 400,
  }

  const devices = rateLimit({
    ...settings,
    name: 'login-device',
    skip: (_req, { locals }) => locals.device === undefined,
    key: (_req, { locals }) => JSON.stringify([locals.account, locals.device]),
    policy: perDevice,
    // A copy of the cookie may have failed in its place: a link gives it another id.
    onDenied: (_decision, _req, res) => offerMail(res),
  })

  const strangers = rateLimit({
    ...{ ...settings, ...IPV6 },
    name: 'login-stranger',
    skip: (_req, { locals }) => locals.device !== undefined || locals.challenge !== undefined,
    // The decision's key is the address; the second policy has a key of its own.
    policy: (_req, { locals }) => [fromAddress, { policy: atAccount, key: locals.account }],
    hide: ['account'],
    // Nothing was charged, so it must not go on to the password: it asks for another request.
    onDenied: (_decision, _req, res) => askForChallenge(res),
  })

  const solvers = rateLimit({
    ...{ ...settings, ...IPV6 },
    name: 'login-solver',
    skip: (_req, { locals }) => locals.device !== undefined || locals.challenge === undefined,
    policy: (req, { locals }) => [
      solved,
      { policy: solvedAtAccount, key: JSON.stringify([clientKey(req.ip), locals.account]) },
      { policy: once, key: locals.challenge },
    ],
    hide: ['solved-at-account', 'once'],
    onDenied: ({ policy }, _req, res) =>
      policy.name === 'once' ? askForChallenge(res) : offerMail(res),
  })

  const mails = rateLimit({
    ...{ store, ...IPV6, headers: false },
    name: 'login-mail',
    policy: (_req, { locals }) => [mailsFrom, { policy: mailsTo, key: locals.account }],
    // As if one were sent: the link in the mail before is still good.
    onDenied: (_decision, _req, res) => void res.sendStatus(202),
  })

  return { devices, strangers, solvers, mails }
}

/** @param {Response} res */
export function askForChallenge(res) {
  res.status(429).json({ challenge: newChallenge(res.locals.account) })
}

/** @param {Response} res */
function offerMail(res) {
  res.status(429).json({ mail: '/login/mail' })
}
