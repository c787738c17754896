// The classes of requests that overload protection tells apart, and what became of each.

import { typeError } from '../base/errors.js'
import { isPromise } from '../base/maybe-async.js'
import { Priorities } from '../limiter/priority.js'
import type { ClassName } from './options.js'
import { knownClass } from './priority.js'

export interface ClassOptions<Req, Class extends string = string> {
  /**
   * Classes of requests, by name, each with the fraction of the limit that it leaves to others,
   * from 0 to 1, rounded up to whole requests. The class `'critical'` always exists. Default: none;
   * needs `priority`.
   */
  readonly reserve?: Readonly<Record<Class, number>> | undefined
  /**
   * Returns the class of a request, one of `reserve` or `'critical'`. Anything else, a promise
   * included, is the class that leaves most to others, with a warning.
   */
  readonly priority?: ((request: Req) => ClassName<Class>) | undefined
}

/** What became of the requests of one class. */
export interface OverloadPriority {
  /** The class: one of `reserve`, or `critical`. */
  readonly priority: string
  /** Requests let in. */
  readonly admitted: number
  /** Requests refused. */
  readonly refused: number
}

/** A class, and what became of its requests. */
interface CountedClass extends OverloadPriority {
  /** The fraction of the limit that it leaves to others. */
  readonly reserve: number
  admitted: number
  refused: number
}

interface OverloadClasses<Req> {
  readonly all: readonly CountedClass[]
  /** Undefined: there are no classes. */
  of(request: Req): CountedClass | undefined
}

/** @throws {TypeError} WEIR_INVALID_OPTION if only one of `reserve` and `priority` is given */
export function overloadClasses<Req>({
  reserve,
  priority,
}: ClassOptions<Req>): OverloadClasses<Req> {
  if (priority === undefined && reserve === undefined) return { all: [], of: () => undefined }
  if (priority === undefined || reserve === undefined) {
    const [given, missing] = priority ? ['priority', 'reserve'] : ['reserve', 'priority']
    const right = `give ${missing} as well, or neither`
    throw typeError('WEIR_INVALID_OPTION', `overload() has ${given} without ${missing}; ${right}`)
  }
  const classes = new Priorities(reserve)
  const counted = new Map<string, CountedClass>()
  for (const name of classes.names) {
    const each = { priority: name, reserve: classes.reserveOf(name), admitted: 0, refused: 0 }
    counted.set(name, each)
  }
  return {
    all: [...counted.values()],
    of(request) {
      const found: unknown = priority(request)
      // Nobody handles its rejection, which must not end the process.
      if (isPromise(found)) Promise.resolve(found).catch(() => {})
      return counted.get(knownClass(classes, found, 'overload()'))
    },
  }
}
