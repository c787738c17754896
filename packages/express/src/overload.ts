// Overload protection for Express: that of core/http, whose `priority` is given Express's requests.

import { type Overload, type OverloadOptions, overload as ofNode } from '@weir/core/http'
import type { Request } from 'express'

/**
 * Refuses requests with 503 while more are in flight than the process can serve without a queue.
 * How many that is, it finds out. Mount it before all others. In memory: no store is asked. With
 * `reserve` and `priority` the last part of the limit is left to those who matter more.
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example app.use(overload())
 */
export function overload<Req extends Request = Request, Class extends string = never>(
  options: OverloadOptions<Req, Class> = {},
): Overload {
  return ofNode(options)
}
