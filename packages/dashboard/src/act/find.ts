// Finds what a request names.

import type { Collector } from '../collect/collector.js'
import type { ShownLimiter, ShownLive } from '../watched.js'
import type { Fields } from './fields.js'
import { invalidRequest, Refused } from './problem.js'

/** @throws {Refused} 404 */
export function limiterOf(collector: Collector, id: string): ShownLimiter {
  return found(collector.all().limiters.get(id), 'limiters')
}

/** @throws {Refused} 404 */
export function liveOf(collector: Collector, id: string): ShownLive {
  return found(collector.all().live.get(id), 'live policies')
}

function found<It>(it: It | undefined, what: string): It {
  if (it !== undefined) return it
  throw new Refused(404, 'not-found', `there are no ${what} of that name here`)
}

/** The key that a request about a limiter gives, itself or by its handle. @throws {Refused} */
export function keyOf(collector: Collector, { name }: ShownLimiter, fields: Fields): string {
  const given = fields.key()
  if ('key' in given) return given.key
  const key = collector.seen.keyOf(name, given.handle)
  if (key !== undefined) return key
  throw invalidRequest('the key behind that handle is not kept, or no longer; give the key')
}
