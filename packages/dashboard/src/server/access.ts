// Who may see the page: whom `authorize` lets in; without it, who has the token that was printed at
// the start. Where a request comes from proves nothing: behind a proxy all come from loopback.

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { plain, Refused } from '../act/problem.js'
import type { Asked } from './exchange.js'

/** What `authorize` answers. */
export type Authorized = boolean | { readonly name: string }

/** Says who may see the page: false, true, or the name under which actions are noted. It is given
 *  the request as the framework has it; a function for that type of request may be given. */
export type Authorize = {
  ask(request: IncomingMessage | Request): Authorized | Promise<Authorized>
}['ask']

/** Who is let in. */
export interface Viewer {
  /** Undefined: `authorize` did not say. */
  readonly name: string | undefined
  /** For notes. */
  readonly who: string
}

export interface Access {
  /** Undefined: `authorize` says who may see the page. */
  readonly token: string | undefined
  /** @throws {Refused} 401 or 403 */
  viewer(asked: Asked): Promise<Viewer>
  /** The cookie for whom the query has the token. Undefined: it has none, or another one. */
  cookie(asked: Asked): string | undefined
}

/** 24 bytes are 192 bits: nobody needs to count guesses. */
const TOKEN_BYTES = 24
const LONGEST_NAME = 100
/** Those of other dashboards may be on the same host, as cookies do not tell ports apart. */
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
  // The cookie is not the token, so that no address can be made of it.
  const session = createHmac('sha256', token).update('session').digest('base64url')
  const name = `weir-dashboard-${createHash('sha256').update(token).digest('hex').slice(0, 8)}`
  const isToken = equalTo(token)
  const isSession = equalTo(session)
  return {
    token,
    // Without a path: a browser takes the mount as it knows it, also where a proxy renames it.
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

/** Compares in constant time, as far as lengths go, too. */
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
