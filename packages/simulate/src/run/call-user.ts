import { quote } from '@weir/core/internal'
import { misused } from '../errors.js'
import { shown } from '../log/shown.js'

/**
 * Calls a user's function.
 * @throws {SimulateError} WEIR_POLICIES_FAILED if it throws, with the line in the file
 */
export function callUser<Answer>(what: string, call: () => Answer): Answer {
  try {
    return call()
  } catch (error) {
    throw threw(what, error)
  }
}

/** What a function of the user's threw, as an error of the policies file. */
export function threw(what: string, error: unknown): Error {
  const { message, stack } = asError(error)
  const problem = `${what} threw ${shown(message, 200)}${placeIn(stack)}`
  return misused('WEIR_POLICIES_FAILED', problem, error)
}

/** Whatever was thrown. */
export function asError(thrown: unknown): Error & { readonly code?: unknown } {
  return thrown instanceof Error ? thrown : Object.assign(new Error(textOf(thrown)), { stack: '' })
}

function textOf(thrown: unknown): string {
  return typeof thrown === 'string' ? thrown : quote(thrown)
}

/**
 * Where in a file an error was made: ` (policies.mjs:3:9)`. Empty if unknown.
 * @param file the file to look for, where it is known: the error may have been made in another file
 * that this one called
 */
export function placeIn(stack: string | undefined, file?: string): string {
  const places = (stack ?? '').split('\n', 50).flatMap((line) => {
    const at = line.includes('node:') ? -1 : line.search(/(?:file:|\/|[A-Z]:\\)/)
    const place = at < 0 ? '' : line.slice(at).replace(/\)$/, '')
    return /^\s*at /.test(line) && /:\d+:\d+$/.test(place) ? [place] : []
  })
  const place = places.find((one) => file === undefined || one.includes(file)) ?? places[0]
  return place === undefined ? '' : ` (${shown(place, 300)})`
}
