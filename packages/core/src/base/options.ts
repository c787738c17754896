// What every function that takes options makes sure of first.

import { type ErrorCode, quote, rangeError, typeError } from './errors.js'

/** @throws {TypeError} with `code`, unless given an object with none but the options known */
export function checkedOptions(
  options: object,
  what: string,
  known: readonly string[],
  code: ErrorCode = 'WEIR_INVALID_OPTION',
): void {
  if (typeof options !== 'object' || options === null) {
    throw typeError(code, `${what} was given ${quote(options)}; give { ${known.join(', ')} }`)
  }
  const unknown = Object.keys(options).find((option) => !known.includes(option))
  if (unknown !== undefined) {
    throw typeError(
      code,
      `${what} does not know the option ${quote(unknown)}; it knows ${known.join(', ')}`,
    )
  }
}

/** @throws {RangeError} WEIR_INVALID_OPTION unless it is a whole number within the bounds */
export function checkedNumber(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  const right = `give a whole number from ${least} to ${most}`
  throw rangeError('WEIR_INVALID_OPTION', `${name} is ${quote(value)}; ${right}`)
}
