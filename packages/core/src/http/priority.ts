// The class of a request: one for all of a limiter's requests, or what a function returns for each.

import { quote, typeError } from '../base/errors.js'
import { type Awaitable, whenKnown } from '../base/maybe-async.js'
import { warnOnce } from '../base/warnings.js'
import { Priorities } from '../limiter/priority.js'
import type { LimitOptions } from './options.js'

/**
 * The class of a limiter's requests, or a function that returns the class of each; undefined: they
 * have none. Where the function returns no class, the request gets the one that leaves most to
 * others: a mistake must not put a request first.
 * @throws {TypeError | RangeError} WEIR_INVALID_PRIORITY, WEIR_INVALID_OPTION
 */
export function prioritySource<Req, Rest extends unknown[]>(
  { priority, reserve }: Pick<LimitOptions<Req, Rest>, 'priority' | 'reserve'>,
  limiterName: string,
): string | ((request: Req, rest: Rest) => Awaitable<string>) | undefined {
  if (priority === undefined) return undefined
  if (reserve === undefined) {
    const right = 'give reserve: { normal: 0.2, batch: 0.5 }, with the names of your classes'
    throw typeError('WEIR_INVALID_OPTION', `priority is ${quote(priority)}, no reserve; ${right}`)
  }
  const classes = new Priorities(reserve)
  if (typeof priority !== 'function') {
    classes.check(priority)
    return priority
  }
  const whose = `limiter "${limiterName}"`
  return (request, rest) =>
    whenKnown(priority(request, ...rest), (found) => knownClass(classes, found, whose))
}

/**
 * The class that a function returned for a request; if that is no class, the lowest, with a
 * warning.
 * @param whose the limiter with its name, or whatever else has the function
 */
export function knownClass(classes: Priorities, found: unknown, whose: string): string {
  if (classes.has(found)) return found
  const { lowest } = classes
  const what = `priority of ${whose} gave ${quote(found)}, which is no class`
  warnOnce('WEIR_UNKNOWN_PRIORITY', whose, `${what}; such requests are "${lowest}"`)
  return lowest
}
