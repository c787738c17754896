// Finds contexts that a test has made up: a limit that is skipped there would look like one that
// holds.

import 'reflect-metadata'
import type { ExecutionContext } from '@nestjs/common'
import { invalid } from './exception.js'

/**
 * Nest calls its own handlers with a request. A context that a test has made up may have none, and
 * would then be taken for another library's, which defaults do not limit.
 * @throws WEIR_NOT_ENFORCED
 */
export function checkReal(context: ExecutionContext): void {
  const type: unknown = context.getType()
  if (typeof type === 'string' && type !== 'http') return
  const handler = context.getHandler()
  const isMade =
    type !== 'http' ||
    context.switchToHttp().getRequest() !== context.getArgByIndex(0) ||
    (typeof handler === 'function' && Reflect.hasMetadata('path', handler))
  if (!isMade) return
  throw invalid(
    'an ExecutionContext has no request with a method and headers, so no limit would hold: in a test, give new ExecutionContextHost([request, response], Class, handler)',
    'WEIR_NOT_ENFORCED',
  )
}
