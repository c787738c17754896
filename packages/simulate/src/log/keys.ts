// Who is limited, as a command or an option says: `ip`, `user`, `header.x-api-key`, `user.id`, or
// several of these, such as `user+path`.

import { FORWARDING_HEADERS } from '@weir/core/http'
import { misuse } from '../errors.js'
import { clientKey } from './clients.js'
import type { LogEntry } from './entry.js'

/** The key of an entry; undefined: the log does not say it. */
export type KeyOf = (entry: LogEntry) => string | undefined

const HEADER = /^header[.:]([A-Za-z0-9!#$%&'*+.^_`|~-]+)$/
const PATH = /^[A-Za-z0-9_@$-][A-Za-z0-9_@$.-]*$/

/** Counts clients as `rateLimit()` does: an IPv6 address by its /56 network. */
function clientOf(address: string | undefined): string | undefined {
  return address === undefined ? undefined : (clientKey(address) ?? address)
}

const NAMED: Readonly<Record<string, KeyOf>> = Object.assign(Object.create(null), {
  ip: ({ ip }: LogEntry) => clientOf(ip),
  user: ({ user }: LogEntry) => user,
  path: ({ path }: LogEntry) => path?.split('?', 1)[0],
  method: ({ method }: LogEntry) => method,
  host: ({ host }: LogEntry) => host,
  key: ({ key }: LogEntry) => key,
})

/**
 * The function that a text names: one part, or several with `+` between them:
 * - `ip`: the client's address; for IPv6 its /56 network, as the middlewares count
 * - `user`, `method`, `host`; `path`, without its query; `key`, the field named by `fields.key`
 * - `header.NAME`: a request header; an address in one of a proxy's headers counts as `ip` does
 * - any other: a field of a JSON log, by its path, such as `user.id`
 * @throws {SimulateError} WEIR_INVALID_OPTION
 * @example keyOf('user+path')
 */
export function keyOf(spec: string): KeyOf {
  const parts = typeof spec === 'string' ? spec.split('+').map(partOf) : []
  if (parts.length === 0 || parts.includes(undefined)) {
    const right = "ip, user, path, header.NAME, a field's path, or several: user+path"
    throw misuse('key', spec, right)
  }
  const all = parts as KeyOf[]
  const [first] = all as [KeyOf]
  if (all.length === 1) return first
  return (entry) => {
    let key = ''
    for (const part of all) {
      const text = part(entry)
      if (text === undefined) return undefined
      key += `${key === '' ? '' : '+'}${escaped(text)}`
    }
    return key
  }
}

function partOf(name: string): KeyOf | undefined {
  const named = NAMED[name]
  if (named !== undefined) return named
  const [, header] = HEADER.exec(name) ?? []
  if (header !== undefined) {
    const isAddress = FORWARDING_HEADERS.includes(header.toLowerCase())
    return (entry) => (isAddress ? clientOf(entry.header(header)) : entry.header(header))
  }
  if (!PATH.test(name)) return undefined
  return (entry) => {
    const found = entry.field(name)
    return found === undefined || found === '' ? undefined : String(found)
  }
}

/** Escapes a part, so that no two lists of parts make the same key. */
function escaped(text: string): string {
  return /[%+]/.test(text) ? text.replace(/[%+]/g, (one) => (one === '+' ? '%2B' : '%25')) : text
}
