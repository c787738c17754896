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
  const { lowest } = classes
  return (request, rest) =>
    whenKnown(priority(request, ...rest), (found) => {
      if (classes.has(found)) return found
      const what = `priority of limiter "${limiterName}" gave ${quote(found)}, which is no class`
      warnOnce('WEIR_UNKNOWN_PRIORITY', limiterName, `${what}; such requests are "${lowest}"`)
      return lowest
    })
}
