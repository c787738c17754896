// @ts-check
// How often each kind of client may fail, and how many guesses that leaves. A login that succeeds
// is not charged.
//
//   a known device            has its own lock-out, in which nobody else counts
//   any other client          may fail 10 times an hour from an address, and 20 times a day at an
//                             account
//   with solved challenges    may fail 3 more times a day from an address at an account, and 10
// more
//                             times a day from an address
//   with a link sent by mail  is a known device; an account gets one link an hour

import { addressKey, lockout, rateLimit, slidingWindow } from '@weir/express'
import { CHALLENGE_MS, newChallenge } from './challenge.js'

/** @typedef {import('express').Response} Response */

// A home has at least a /64 of IPv6. A client that has a /48 counts as 65,536 addresses: see the
// recipe.
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

/** The guesses of one device in any 24 hours: a count that stops before it starts a block, and four
 *  that start one, as three of the blocks end within a day. */
const OF_DEVICE = 4 + 4 * 5

/**
 * The most guesses in any 24 hours at one account, by an attacker who has this many addresses,
 * solves every challenge, and has copied the cookies of this many devices.
 * @param {number} addresses
 * @param {number} [devices]
 */
export function guessesAtAccount(addresses, devices = 0) {
  return atAccount.limit + solvedAtAccount.limit * addresses + OF_DEVICE * devices
}

/** The same at all accounts together, without a known device. @param {number} addresses */
export function guessesInAll(addresses) {
  return (24 * fromAddress.limit + solved.limit) * addresses
}

/**
 * The handlers that run before the password check. Each reads from `res.locals` what earlier steps
 * took from the request.
 * @param {import('@weir/express').Store} store
 */
export function limitsOn(store) {
  /** @type {import('@weir/express').RateLimitSettings} */
  const settings = {
    store,
    // A client must not learn how often others have failed.
    headers: false,
    refundWhen: (_req, { status, finished }) => finished && status < 400,
  }

  const devices = rateLimit({
    ...settings,
    name: 'login-device',
    skip: (_req, { locals }) => locals.device === undefined,
    key: (_req, { locals }) => JSON.stringify([locals.account, locals.device]),
    policy: perDevice,
    // A copy of the cookie may have caused the failures: a link gives the device another id.
    onDenied: (_decision, _req, res) => offerMail(res),
  })

  const strangers = rateLimit({
    ...{ ...settings, ...IPV6 },
    name: 'login-stranger',
    skip: (_req, { locals }) => locals.device !== undefined || locals.challenge !== undefined,
    // The decision's key is the address; the second policy has its policy key, the account.
    policy: (_req, { locals }) => [fromAddress, { policy: atAccount, key: locals.account }],
    hide: ['account'],
    // A denied request is not charged, so it must not reach the password check: the client has to
    // send another one.
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
    // The response is the same as if a mail were sent: the link in the previous mail is still
    // valid.
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
