// @ts-check
// The accounts: a database, in a real service. A check takes as long for an unknown account as for
// a wrong password.

import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const hash = /** @type {(password: string, salt: Buffer, length: number) => Promise<Buffer>} */ (
  promisify(scrypt)
)

/** @type {Map<string, { salt: Buffer, hash: Buffer }>} */
const accounts = new Map()
const nobody = await made('')

/** @param {string} password */
async function made(password) {
  const salt = randomBytes(16)
  return { salt, hash: await hash(password, salt, 32) }
}

/** @param {string} account @param {string} password */
export async function addAccount(account, password) {
  accounts.set(account, await made(password))
}

/** @param {string} account */
export function hasAccount(account) {
  return accounts.has(account)
}

/** @param {string} account @param {string} password */
export async function isRight(account, password) {
  const { salt, hash: right } = accounts.get(account) ?? nobody
  const given = await hash(password, salt, 32)
  return timingSafeEqual(given, right) && accounts.has(account)
}
