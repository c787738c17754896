// The errors of a simulation. Each has a code, says what was given, and what would be right.

import { quote, withPage } from '@weir/core/http'

/** The `code` of an error of this package. Errors of policies have those of @weir/core. */
export type SimulateErrorCode =
  | 'WEIR_INVALID_OPTION'
  | 'WEIR_INVALID_POLICY'
  | 'WEIR_INVALID_COST'
  | 'WEIR_NOT_SIMULATED'
  | 'WEIR_TOO_MANY_KEYS'
  | 'WEIR_LOG_UNREADABLE'
  | 'WEIR_POLICIES_FAILED'

/** What this package throws. */
export interface SimulateError extends Error {
  readonly code: SimulateErrorCode
  /** 2: the command was misused. Not there: it was not, and failed. */
  readonly exitCode?: 2
}

/** The user gave something that is wrong: "<what> is <value>; give <right>". */
export function misuse(
  what: string,
  value: unknown,
  right: string,
  code: SimulateErrorCode = 'WEIR_INVALID_OPTION',
): SimulateError {
  return misused(code, `${what} is ${quote(value)}; give ${right}`)
}

/** The user gave something that is wrong, as the message says. */
export function misused(code: SimulateErrorCode, message: string): SimulateError {
  return Object.assign(new TypeError(withPage(code, message)), { code, exitCode: 2 as const })
}

/** What was asked for could not be done, as the message says. */
export function failed(code: SimulateErrorCode, message: string, cause?: unknown): SimulateError {
  return Object.assign(new Error(withPage(code, message), { cause }), { code })
}
