// What every function that takes options makes sure of first.

import { type ErrorCode, invalid, quote, typeError } from './errors.js'
import { rightName } from './other-names.js'

/** Throws if the value of an option is not right; `undefined` is never asked about. */
export type Check = (value: unknown, name: string) => void

/** The checks of all options that there are: by the type, none is missing. */
export type Checks<Options> = Readonly<Record<keyof Options, Check>>

/** @throws {TypeError | RangeError} unless given an object with none but known and right options */
export function checkAll<Options>(options: object, what: string, checks: Checks<Options>): void {
  const names = Object.keys(checks) as (keyof Options & string)[]
  checkedOptions(options, what, names)
  // By the names that are known, so that what an object has from its class is checked as well.
  for (const name of names) {
    const value = (options as Options)[name]
    if (value !== undefined) checks[name](value, name)
  }
}

/** @throws {TypeError} with `code`, unless given an object with none but the options known */
export function checkedOptions(
  options: object,
  what: string,
  known: readonly string[],
  code: ErrorCode = 'WEIR_INVALID_OPTION',
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw typeError(code, `${what} was given ${quote(options)}; give an object of options`)
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    const right = rightName(name, known)
    throw typeError(code, `${what} does not know the option ${quote(name)}; ${right}`)
  }
}

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION unless a whole number in the bounds */
export function checkedNumber(name: string, value: unknown, least: number, most: number): void {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return
  const right = `a whole number from ${least} to ${most}`
  throw invalid('WEIR_INVALID_OPTION', name, value, right, 'number')
}

export function wholeNumber(least: number, most: number): Check {
  return (value, name) => checkedNumber(name, value, least, most)
}

export function ofType(type: 'boolean' | 'function'): Check {
  return (value, name) => {
    if (typeof value !== type) throw invalid('WEIR_INVALID_OPTION', name, value, `a ${type}`)
  }
}

/** Checked elsewhere, or by what is made of it. */
export function unchecked(): void {}
