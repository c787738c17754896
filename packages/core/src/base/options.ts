// The checks that every function with options makes first.

import { type ErrorCode, invalid, quote, typeError } from './errors.js'
import { rightName } from './other-names.js'

/** Throws if an option's value is wrong. Never called with `undefined`. */
export type Check = (value: unknown, name: string) => void

/** A check for each option: the type makes sure that none is missing. */
export type Checks<Options> = Readonly<Record<keyof Options, Check>>

/** @throws {TypeError | RangeError} unless `options` has only known options with right values */
export function checkAll<Options>(options: object, what: string, checks: Checks<Options>): void {
  const names = Object.keys(checks) as (keyof Options & string)[]
  checkedOptions(options, what, names)
  // Goes by the known names, so that properties inherited from a class are checked as well.
  for (const name of names) {
    const value = (options as Options)[name]
    if (value !== undefined) checks[name](value, name)
  }
}

/** @throws {TypeError} with `code`, unless `options` is an object with only known options */
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

/** @throws {TypeError | RangeError} WEIR_INVALID_OPTION unless it is a whole number in range */
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

/** For an option that is checked elsewhere, or by the code that uses it. */
export function unchecked(): void {}
