// Runs a program in a separate process that loads the packages as an application does: from this
// folder, by name.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../..')

/** The copies of @weir/core, and Node's options that load them. */
export const COPIES: readonly (readonly [copy: string, options: readonly string[]])[] = [
  ['that Node runs', []],
  ['that bundlers take', ['--conditions=module']],
]

/** @returns the program's output, which is JSON */
export function run(program: string, options: readonly string[] = []): unknown {
  const args = [...options, '--input-type=module', '--eval', program]
  return JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }))
}
