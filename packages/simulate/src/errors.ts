// The errors of a simulation. Each has a code, and says what was given and what would be right.

import { quote, withPage } from '@weir/core/internal'
import { shown } from './log/shown.js'

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
  /** 2: the command was misused. Absent: it was used correctly, and failed. */
  readonly exitCode?: 2
}

/** For a wrong value from the user: "<what> is <value>; give <right>". */
export function misuse(
  what: string,
  value: unknown,
  right: string,
  code: SimulateErrorCode = 'WEIR_INVALID_OPTION',
): SimulateError {
  return misused(code, `${what} is ${quote(value)}; give ${right}`)
}

/** For other mistakes of the user's, in the words of `message`. */
export function misused(code: SimulateErrorCode, message: string, cause?: unknown): SimulateError {
  const error = new TypeError(withPage(code, message), cause === undefined ? {} : { cause })
  return Object.assign(error, { code, exitCode: 2 as const })
}

/** For options that `parseArgs` refuses. An address that was written as one, `--redis://...`, may
 *  have a password. */
export function misusedOptions(error: unknown, help = ''): SimulateError {
  const problem = shown((error as Error).message.replace(/:.*/s, ':…'), 500)
  return misused('WEIR_INVALID_OPTION', `${problem}${help}`)
}

/** For what was asked for correctly and could not be done. */
export function failed(code: SimulateErrorCode, message: string, cause?: unknown): SimulateError {
  return Object.assign(new Error(withPage(code, message), { cause }), { code })
}
