// Why the keys of a log may be wrong. A report with a doubt has the exit code 1.

import type { LogsReport } from '../files/read-logs.js'
import { isJson } from '../log/formats.js'
import type { LimiterReport } from '../report.js'

type Decided = Pick<LimiterReport, 'requests' | 'withoutKey'>

/** A sentence or two for each doubt, with what to do about it. */
export function doubtsOf(log: LogsReport, limiters: readonly Decided[]): readonly string[] {
  const doubts = [listsOf(log), proxiesOf(log)]
  // Another limiter of a file may skip all requests of this log.
  const isDecided = limiters.some(({ requests }) => requests > 0)
  const keyless = limiters.find(({ requests, withoutKey }) => requests === 0 && withoutKey > 0)
  if (keyless !== undefined || !isDecided) doubts.push(undecided(log, keyless))
  return doubts.filter((text) => text !== undefined)
}

function listsOf({ addresses: { lists } }: LogsReport): string | undefined {
  if (lists === 0) return undefined
  return (
    'Requests have lists of addresses as their keys. A client can write all of such a list but its ' +
    'end, and so take another key for each request. Name your proxies: --trusted private, or their ' +
    'networks.'
  )
}

function proxiesOf({ addresses: { proxies: found } }: LogsReport): string | undefined {
  if (found === undefined) return undefined
  const { addresses, areTrusted, header } = found
  if (addresses.length === 0)
    return (
      `Most requests were sent on by proxies and count by their addresses: the header ${header} has ` +
      `others. ${trusting(undefined, header)}`
    )
  const isOne = addresses.length === 1
  const [is, proxies] = isOne ? ['is', 'a proxy'] : ['are', 'proxies']
  const are = areTrusted ? `which ${is} trusted` : `probably ${proxies}`
  const what = `Most requests come from ${addresses.join(', ')}, ${are}.`
  if (header !== undefined) return `${what} ${trusting(addresses.join(','), header)}`
  if (areTrusted) return `${what} ${UNLOGGED}`
  return `${what} ${UNLOGGED} If ${isOne ? 'it is one client' : 'these are clients'}, give --trusted loopback.`
}

const UNLOGGED =
  'The log does not have the header in which clients are named: log it, as "$http_x_forwarded_for" ' +
  "in nginx's format main."

/** @param proxies undefined: too many to name */
function trusting(proxies: string | undefined, header: string | undefined): string {
  const trusted = `--trusted ${proxies ?? 'with their networks'}`
  if (header === undefined || header === 'x-forwarded-for') return `Give ${trusted}.`
  return `Give --key header.${header}${header === 'forwarded' ? ` ${trusted}` : ''}.`
}

/** There are no figures: the log does not say who is limited, or has no request to decide on. */
function undecided({ format }: LogsReport, keyless: Decided | undefined): string {
  const what = 'No request was decided on, so the log says nothing about limits'
  if (keyless === undefined) return `${what}.`
  if (isJson(format))
    return `${what}: no line has a key. Name the field that has it: --fields key=NAME, without --key.`
  return `${what}: give --key with a key that the log has, such as user, host or header.x-api-key.`
}
