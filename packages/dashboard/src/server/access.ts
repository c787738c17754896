// Who may see the page: those whom `authorize` lets in; without it, those who have the token that
// was printed at the start. An address proves nothing: behind a proxy, all requests come from
// loopback.

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { plain, Refused } from '../act/problem.js'
import type { Asked } from './exchange.js'

/** What `authorize` returns. */
export type Authorized = boolean | { readonly name: string }

/** Says who may see the page: false, true, or the name under which actions are noted. It gets the
 *  framework's request, and may be declared for that type of request. */
export type Authorize = {
  ask(request: IncomingMessage | Request): Authorized | Promise<Authorized>
}['ask']

/** Somebody who is let in. */
export interface Viewer {
  /** The name that `authorize` gave. Undefined: none. */
  readonly name: string | undefined
  /** How notes on actions call the viewer. */
  readonly who: string
}

export interface Access {
  /** The token that lets in. Undefined: `authorize` says who may see the page. */
  readonly token: string | undefined
  /** @throws {Refused} 401 or 403 */
  viewer(asked: Asked): Promise<Viewer>
  /** The cookie to set if the query has the token. Undefined: it has none, or a wrong one. */
  cookie(asked: Asked): string | undefined
}

/** 192 bits: too many to guess, so guesses need not be limited. */
const TOKEN_BYTES = 24
const LONGEST_NAME = 100
/** Other dashboards on the host add their cookies, because cookies do not tell ports apart. */
const MOST_COOKIES = 50

export function accessBy(authorize: Authorize | undefined): Access {
  return authorize === undefined ? byToken() : byAuthorize(authorize)
}

function byAuthorize(authorize: Authorize): Access {
  return {
    token: undefined,
    cookie: () => undefined,
    async viewer({ original }) {
      const answer: unknown = await authorize(original)
      if (answer === true) return { name: undefined, who: 'authorized' }
      const { name } = (answer ?? {}) as { name?: unknown }
      if (typeof name !== 'string' || name === '')
        throw new Refused(403, 'not-authorized', 'authorize does not let this request in')
      const shown = plain(name).slice(0, LONGEST_NAME)
      return { name: shown, who: shown }
    },
  }
}

function byToken(): Access {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  // The cookie is not the token itself, so that nobody can make an address from it.
  const session = createHmac('sha256', token).update('session').digest('base64url')
  const name = `weir-dashboard-${createHash('sha256').update(token).digest('hex').slice(0, 8)}`
  const isToken = equalTo(token)
  const isSession = equalTo(session)
  return {
    token,
    // Without a path: the browser takes the mount as it sees it, even if a proxy renames it.
    cookie({ query, isSecure }) {
      const given = new URLSearchParams(query).get('token')
      if (given === null || !isToken(given)) return undefined
      const secure = isSecure ? '; Secure' : ''
      return `${name}=${session}; HttpOnly; SameSite=Strict${secure}`
    },
    async viewer(asked) {
      const given = cookiesOf(asked.header('cookie') ?? '', name)
      if (given.some(isSession)) return { name: undefined, who: 'token' }
      const where = 'open the address with the token that was printed when the process started'
      throw new Refused(401, 'no-token', where)
    },
  }
}

/** Makes a comparison that takes the same time for all texts, whatever their lengths. */
function equalTo(right: string): (given: string) => boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  const expected = digest(right)
  return (given) => timingSafeEqual(digest(given), expected)
}

function cookiesOf(header: string, name: string): readonly string[] {
  return header
    .split(';', MOST_COOKIES)
    .map((each) => each.trim())
    .filter((each) => each.startsWith(`${name}=`))
    .map((each) => each.slice(name.length + 1))
}
