// The class of a request: one for all of a limiter's, or what a function makes of each.

import { quote, typeError } from '../base/errors.js'
import { type Awaitable, whenKnown } from '../base/maybe-async.js'
import { warnOnce } from '../base/warnings.js'
import { Priorities } from '../limiter/priority.js'
import type { LimitOptions } from './options.js'

/**
 * The class of a limiter's requests, or a function that gives that of each; undefined: they have
 * none. Where a function gives no class, it is the one that leaves most to others: what goes wrong
 * must not go first.
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
 * What a function gave as the class of a request, or the lowest class, with a warning.
 * @param whose the limiter with its name, or what else has the function
 */
export function knownClass(classes: Priorities, found: unknown, whose: string): string {
  if (classes.has(found)) return found
  const { lowest } = classes
  const what = `priority of ${whose} gave ${quote(found)}, which is no class`
  warnOnce('WEIR_UNKNOWN_PRIORITY', whose, `${what}; such requests are "${lowest}"`)
  return lowest
}
