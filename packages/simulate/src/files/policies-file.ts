import { access } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { misused } from '../errors.js'
import type { PoliciesInput } from '../limiters.js'
import { shown } from '../log/shown.js'
import { placeIn } from '../run/call-user.js'

/**
 * What a policies file exports as its default.
 * @throws {SimulateError} WEIR_POLICIES_FAILED, with the line at which the file fails
 */
export async function policiesIn(path: string): Promise<PoliciesInput> {
  const file = shown(path, 300)
  const fails = (problem: string): Error =>
    misused('WEIR_POLICIES_FAILED', `the policies file ${file} ${problem}`)
  await access(path).catch(() => {
    throw fails('is not there, or cannot be read')
  })
  let module: { readonly default?: PoliciesInput }
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as typeof module
  } catch (error) {
    const { message = String(error), stack, code } = error as Error & { readonly code?: string }
    const hint = code === 'ERR_UNKNOWN_FILE_EXTENSION' ? '; give a .mjs file' : ''
    const place = syntaxPlace(stack) || placeIn(stack, basename(path))
    throw fails(`failed: ${shown(message, 300)}${place}${hint}`)
  }
  if (module.default !== undefined) return module.default
  const right = 'export default slidingWindow({ limit: 100, window: "1m" })'
  throw fails(`exports nothing as its default; give ${right}`)
}

/** A syntax error's stack begins with the place. */
function syntaxPlace(stack: string | undefined): string {
  const [first = ''] = (stack ?? '').split('\n', 1)
  return /^(?:file:|\/|[A-Z]:\\).*:\d+$/.test(first) ? ` (${shown(first, 300)})` : ''
}
