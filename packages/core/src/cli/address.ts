// The address of Redis that a command is given.

import { quote, rangeError } from '../base/errors.js'

/** A host, a port or both, or the path of a socket. */
const PLAIN = /^([\w.-]+(:\d+)?|\/[^/@][^@]*)$/

/**
 * The address as all clients understand it. Otherwise ioredis would take an address whose scheme it
 * does not know for the path of a socket, and its error would show the password.
 * @param what what the address is called
 * @throws {RangeError} WEIR_INVALID_OPTION: nothing of the address but its scheme is shown
 */
export function checkedAddress(what: string, given: string): string {
  if (PLAIN.test(given)) return given.startsWith('/') ? given : urlOf(given)
  const [, secure = '', rest] = /^(?:redis|valkey)(s?)(:\/\/.+)$/is.exec(given) ?? []
  if (rest === undefined) {
    const [begin] = /^["'\s]*[a-z][a-z0-9+.-]*:(?=\/)/i.exec(given) ?? []
    const problem = begin === undefined ? 'has no scheme' : `begins with ${quote(begin)}`
    throw refused(what, `${problem}; give redis://, rediss://, valkey:// or valkeys://`)
  }
  // In small letters, without which ioredis uses no TLS.
  const address = `redis${secure.toLowerCase()}${rest}`
  if (!isWhole(address)) throw refused(what, `is no URL; ${ENCODED}`)
  // Encoded: ioredis before 5.11 ends the host at a backslash, and its errors show what follows.
  return new URL(address).href
}

const ENCODED = "write a password's special characters as URLs do, such as %2F for /"

/** Whether all of a password was read as one: a `/` or `#` in it ends the host, after which only
 *  the number of a database may come. */
function isWhole(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { username, password, pathname, search, hash } = new URL(address)
  try {
    decodeURIComponent(username + password)
  } catch {
    return false
  }
  return /^\/?\d*$/.test(pathname) && !/[@\s]/.test(search + hash)
}

/** node-redis takes only URLs. */
function urlOf(plain: string): string {
  return `redis://${/^\d+$/.test(plain) ? `localhost:${plain}` : plain}`
}

function refused(what: string, problem: string): Error {
  return rangeError('WEIR_INVALID_OPTION', `${what} ${problem}`)
}
