// Checks of what users hand in.

import { RateLimiter, type Store, unlimited } from '@weir/core'
import { quote } from '@weir/core/internal'

/** The error for wrong input, and for what another limiter can do and Weir's stores cannot. */
export function misuse(what: string): Error {
  const message = `${what} (see docs/errors.md#weir_invalid_option)`
  return Object.assign(new TypeError(message), { code: 'WEIR_INVALID_OPTION' })
}

const RIGHT: Readonly<
  Record<string, readonly [isRight: (value: unknown) => boolean, text: string]>
> = {
  algorithm: [
    (value) => value === 'fixed-window' || value === 'sliding-window',
    "'fixed-window' or 'sliding-window'",
  ],
  shared: [(value) => typeof value === 'boolean', 'true or false'],
  limit: [(value) => Number.isInteger(value) && (value as number) >= 0, 'a whole number from 0'],
}

/**
 * @param known names of options
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_NAME
 */
export function check(store: Store, options: object, name: string, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw misuse(`options are ${shown(options)}; give an object`)
  for (const [option, value] of Object.entries(options)) {
    if (!known.includes(option))
      throw misuse(`there is no option ${shown(option)}; there are ${known.join(', ')}`)
    const [isRight, text] = RIGHT[option] ?? [() => true, '']
    if (value !== undefined && !isRight(value))
      throw misuse(`${option} is ${shown(value)}; give ${text}`)
  }
  if (store === undefined) throw misuse('the store is missing; give redisStore(...)')
  // Throws if something is wrong with the store or the name.
  new RateLimiter({ name, store, policy: unlimited(), shared: true }).close()
}

export function shown(value: unknown): string {
  if (typeof value === 'string') return quote(value)
  const text = typeof value === 'object' ? 'an object' : String(value)
  return JSON.stringify(text.replace(/[^ -~]/g, '?').slice(0, 64))
}
