// Whether a request comes from the page itself, by the headers that browsers send. Other sites
// cannot forge these headers, and cannot send JSON here without a preflight, which gets no answer.

import { Refused } from '../act/problem.js'
import type { PageRequest } from './exchange.js'

/**
 * Checks a POST.
 *
 * For `Sec-Fetch-Site` the browser compares the sender with the address that it shows, so the
 * header is right even behind a proxy that changes `Host`, as nginx does by default. Browsers send
 * it over TLS and to localhost. Elsewhere `Origin` must name the host that was asked.
 * @throws {Refused} 403, 415
 */
export function checkPosted({ header }: PageRequest): void {
  const type = header('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new Refused(415, 'not-json', 'send application/json')
  const site = header('sec-fetch-site')
  if (site !== undefined) {
    if (site === 'same-origin') return
    throw new Refused(403, 'foreign-origin', 'the request was made by another site')
  }
  const host = hostOf(header('origin'))
  const hosts = [header('host'), header('x-forwarded-host')].map((each) => each?.toLowerCase())
  if (host !== undefined && hosts.includes(host)) return
  const right = 'where a proxy changes Host, let it send the one that it was asked for'
  throw new Refused(403, 'foreign-origin', `Origin is not the host of this server; ${right}`)
}

/** Checks a request for the stream, so that other sites cannot take up the viewers' places.
 *  @throws {Refused} 403 */
export function checkStreamed({ header }: PageRequest): void {
  const site = header('sec-fetch-site')
  if (site === undefined || site === 'same-origin' || site === 'none') return
  throw new Refused(403, 'foreign-origin', 'the request was made by another site')
}

function hostOf(origin: string | undefined): string | undefined {
  return /^https?:\/\/([^/\s]+)$/i.exec(origin ?? '')?.[1]?.toLowerCase()
}
