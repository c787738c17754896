// @ts-check
// Known devices: after a login, a browser has a cookie that says so. The cookie gives no access. It
// only keeps the failures of others from counting on that device.
//
// The cookie holds one text for each of the last accounts, bound to the account and to an id. Each
// login gives a new id, so a copy of an old cookie has its own lock-out, and its failures do not
// count against the owner.

import { idOf, randomId, signed } from './signed.js'

const COOKIE = '__Host-devices'
const LIFE_MS = 90 * 86_400_000
/** The accounts that a browser remembers. Bounds the size of the cookie, and the work to check
 *  it. */
const MOST = 5

/**
 * The id of the device, if it is known at the account.
 * @param {string | undefined} cookies the header
 * @param {string} account
 */
export function knownDevice(cookies, account) {
  for (const text of textsIn(cookies)) {
    const id = idOf(text, 'device', account)
    if (id !== undefined) return id
  }
  return undefined
}

/**
 * Makes the device known at the account, under this id.
 * @param {import('express').Response} res
 * @param {string | undefined} cookies the header
 * @param {string} account
 * @param {string} [id]
 */
export function remember(res, cookies, account, id = randomId()) {
  const others = textsIn(cookies).filter((text) => idOf(text, 'device', account) === undefined)
  const texts = [signed('device', account, id, LIFE_MS), ...others].slice(0, MOST)
  const attributes = /** @type {const} */ ({ httpOnly: true, secure: true, sameSite: 'lax' })
  res.cookie(COOKIE, texts.join('~'), { ...attributes, path: '/', maxAge: LIFE_MS })
}

/** @param {string} [cookies] */
function textsIn(cookies = '') {
  const own = cookies.split('; ').find((cookie) => cookie.startsWith(`${COOKIE}=`)) ?? ''
  const texts = own.slice(COOKIE.length + 1).split('~', MOST)
  return texts.filter((text) => text !== '')
}
