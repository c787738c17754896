// Overload protection for Express: core/http's, whose `priority` gets Express's requests.

import { type Overload, type OverloadOptions, overload as ofNode } from '@weir/core/http'
import type { Request } from 'express'

/**
 * Refuses requests with 503 while more are in flight than the process can serve without a queue. It
 * finds out how many that is, in memory. Mount it before all other middlewares.
 * @experimental
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_DURATION, WEIR_INVALID_NAME
 * @example app.use(overload())
 */
export function overload<Req extends Request = Request, Class extends string = never>(
  options: OverloadOptions<Req, Class> = {},
): Overload {
  return ofNode(options)
}
