// @ts-check
// Texts that only this service can make: an id, an expiry time, and an HMAC over both and over the
// purpose. Nothing has to be stored.
//
//   SECRETS   the keys, separated by commas: the first one signs; texts that the others signed stay
//             valid. To change them, put a new one in front, and drop the old one after 90 days,
//             when no device has a cookie by it. If it is not set, texts are valid until the
//             process ends.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const secrets = (process.env.SECRETS ?? randomBytes(32).toString('hex')).split(',')

/** @typedef {'device' | 'link' | 'challenge'} Purpose */

export function randomId() {
  return randomBytes(16).toString('base64url')
}

/**
 * @param {Purpose} purpose
 * @param {string} account
 * @param {string} id without dots
 * @param {number} lifeMs
 */
export function signed(purpose, account, id, lifeMs) {
  const end = String(Date.now() + lifeMs)
  return `${id}.${end}.${signature(secrets[0], [purpose, account, id, end])}`
}

/**
 * The id in a text that was signed for this purpose and account, and has not expired.
 * @param {string} text
 * @param {Purpose} purpose
 * @param {string} account
 */
export function idOf(text, purpose, account) {
  const [id = '', end = '', given = ''] = text.split('.')
  const isRight = secrets.some((secret) =>
    isSame(given, signature(secret, [purpose, account, id, end])),
  )
  return isRight && Number(end) > Date.now() ? id : undefined
}

/** @param {string | undefined} secret @param {string[]} parts */
function signature(secret = '', parts) {
  return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url')
}

/** Compares in constant time. @param {string} a @param {string} b */
function isSame(a, b) {
  const [one, other] = [Buffer.from(a), Buffer.from(b)]
  return one.length === other.length && timingSafeEqual(one, other)
}
