// Who may see the page: those whom `authorize` lets in; without it, those who have the token that
// was printed last. An address proves nothing: behind a proxy, all requests come from
// loopback.

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { plain, Refused } from '../act/problem.js'
import type { Time } from '../time.js'
import type { PageRequest } from './exchange.js'

/** What `authorize` returns. */
export type Authorized =
  | boolean
  | {
      /** Under which actions are noted. */
      readonly name: string
      /** False: may look, and change nothing. Default true, which `actions` has to allow. */
      readonly mayAct?: boolean | undefined
    }

/**
 * Says who may see the page: true, false, or `{ name, mayAct }`, the name under which actions are
 * noted, and false for whoever may only look. It gets the framework's request, for whose type it
 * may be declared.
 */
export type Authorize = {
  ask(request: IncomingMessage | Request): Authorized | Promise<Authorized>
}['ask']

/** Somebody who is let in. */
export interface Viewer {
  /** The name that `authorize` gave. Undefined: none. */
  readonly name: string | undefined
  /** How notes on actions call the viewer. */
  readonly who: string
  readonly mayAct: boolean
}

export interface Access {
  /** The token that lets in. Undefined: `authorize` says who may see the page. */
  readonly token: string | undefined
  /** Makes another token: the one before, and its cookie, let nobody in any more. */
  renew(): void
  /** @throws {Refused} 401, 403 or 503 */
  viewer(request: PageRequest): Promise<Viewer>
  /** The cookie to set if the query has the token. Undefined: it has none, or a wrong one. */
  cookie(request: PageRequest): string | undefined
}

/** 192 bits: too many to guess, so guesses need not be limited. */
const TOKEN_BYTES = 24
const LONGEST_NAME = 100
/** Other dashboards on the host add their cookies, because cookies do not tell ports apart. */
const MOST_COOKIES = 50
/** How long `authorize` may take. */
const AUTHORIZE_MS = 5_000

/** @param late called when `authorize` has not answered in time */
export function accessBy(
  authorize: Authorize | undefined,
  time: Time,
  late: (error: Error) => void,
): Access {
  return authorize === undefined ? new ByToken() : byAuthorize(authorize, time, late)
}

function byAuthorize(authorize: Authorize, time: Time, late: (error: Error) => void): Access {
  return {
    token: undefined,
    renew() {},
    cookie: () => undefined,
    async viewer({ original }) {
      const answer: unknown = await inTime(time, authorize(original), late)
      if (answer === true) return { name: undefined, who: 'authorized', mayAct: true }
      const { name, mayAct } = (answer ?? {}) as { name?: unknown; mayAct?: unknown }
      if (typeof name !== 'string' || name === '')
        throw new Refused(403, 'not-authorized', 'authorize does not let this request in')
      const shown = plain(name).slice(0, LONGEST_NAME)
      return { name: shown, who: shown, mayAct: mayAct === undefined || mayAct === true }
    },
  }
}

/** The answer of `authorize`. Nobody is let in because it takes too long.
 *  @throws {Refused} 503 */
async function inTime(
  time: Time,
  answer: Authorized | Promise<Authorized>,
  late: (error: Error) => void,
): Promise<Authorized> {
  let cancel = (): void => {}
  const deadline = new Promise<never>((_, reject) => {
    cancel = time.after(AUTHORIZE_MS, () => {
      const why = `authorize has not answered for ${AUTHORIZE_MS / 1_000} s`
      late(new Error(why))
      reject(new Refused(503, 'authorize-late', why))
    })
  })
  try {
    return await Promise.race([answer, deadline])
  } finally {
    cancel()
  }
}

class ByToken implements Access {
  #secret = new Secret()

  get token(): string {
    return this.#secret.token
  }

  renew(): void {
    this.#secret = new Secret()
  }

  // Without a path: the browser takes the mount as it sees it, even if a proxy renames it.
  cookie({ query, isSecure }: PageRequest): string | undefined {
    const { name, session, isToken } = this.#secret
    const given = new URLSearchParams(query).get('token')
    if (given === null || !isToken(given)) return undefined
    const secure = isSecure ? '; Secure' : ''
    return `${name}=${session}; HttpOnly; SameSite=Strict${secure}`
  }

  async viewer(request: PageRequest): Promise<Viewer> {
    const { name, isSession } = this.#secret
    const given = cookiesOf(request.header('cookie') ?? '', name)
    if (given.some(isSession)) return { name: undefined, who: 'token', mayAct: true }
    const where = 'open the address with the token that was printed last'
    throw new Refused(401, 'no-token', where)
  }
}

/** A token, and the cookie for which it is exchanged. */
class Secret {
  readonly token: string = randomBytes(TOKEN_BYTES).toString('base64url')
  /** Not the token itself, so that nobody can make an address from the cookie. */
  readonly session: string = createHmac('sha256', this.token).update('session').digest('base64url')
  /** The cookie's name. */
  readonly name: string =
    `weir-dashboard-${createHash('sha256').update(this.token).digest('hex').slice(0, 8)}`
  readonly isToken: (given: string) => boolean = equalTo(this.token)
  readonly isSession: (given: string) => boolean = equalTo(this.session)
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
