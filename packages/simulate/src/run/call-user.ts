import { failed } from '../errors.js'
import { shown } from '../log/shown.js'

/**
 * Calls a user's function.
 * @throws {SimulateError} WEIR_POLICIES_FAILED if it throws, with the line in the file
 */
export function callUser<Answer>(what: string, call: () => Answer): Answer {
  try {
    return call()
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    const problem = `${what} threw ${shown(message, 200)}${placeIn(stack)}`
    throw failed('WEIR_POLICIES_FAILED', problem, error)
  }
}

/**
 * Where in a file an error was made: ` (policies.mjs:3:9)`. Empty if unknown.
 * @param file the file to look for, where it is known: the error may have been made in another file
 * that this one called
 */
export function placeIn(stack: string | undefined, file?: string): string {
  const places = (stack ?? '').split('\n', 50).flatMap((line) => {
    const at = line.search(/(?:file:|\/|[A-Z]:\\)/)
    const place = at < 0 ? '' : line.slice(at).replace(/\)$/, '')
    return /^\s*at /.test(line) && /:\d+:\d+$/.test(place) ? [place] : []
  })
  const place = places.find((one) => file === undefined || one.includes(file)) ?? places[0]
  return place === undefined ? '' : ` (${shown(place, 300)})`
}
