import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { misused } from '../errors.js'
import type { PoliciesInput } from '../limiters.js'
import { shown } from '../log/shown.js'
import { asError, placeIn } from '../run/call-user.js'

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
    const { message, stack, code } = asError(error)
    const hint = code === 'ERR_UNKNOWN_FILE_EXTENSION' ? '; give a .mjs file' : ''
    const isSyntax = error instanceof SyntaxError
    const place = isSyntax
      ? syntaxPlace(stack) || syntaxPlace(await checked(path))
      : placeIn(stack, basename(path))
    throw fails(`failed: ${shown(message, 300)}${place}${hint}`)
  }
  if (module.default !== undefined) return module.default
  const right = 'export default slidingWindow({ limit: 100, window: "1m" })'
  throw fails(`exports nothing as its default; give ${right}`)
}

/** Node.js's report on a file's syntax: for a module, nothing else says the line. */
function checked(path: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', path], (_, __, stderr) => resolve(stderr))
  })
}

/** A syntax error's stack begins with the place. */
function syntaxPlace(stack: string | undefined): string {
  const [first = ''] = (stack ?? '').split('\n', 1)
  return /^(?:file:|\/|[A-Z]:\\).*:\d+$/.test(first) ? ` (${shown(first, 300)})` : ''
}
