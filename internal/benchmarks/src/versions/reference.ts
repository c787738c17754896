// An earlier Weir, to run beside the present one.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILT } from '../child.js'

/**
 * A copy of these benchmarks in which `@weir/*` are the packages of a commit, built from git
 * history. The copy exists until the process ends.
 * @param commit if undefined, the one in tools/reference.mjs
 */
export function builtAt(commit: string | undefined): string {
  const tool = fileURLToPath(new URL('../../../../tools/reference.mjs', import.meta.url))
  const args = commit === undefined ? [tool] : [tool, commit]
  const reference = execFileSync(process.execPath, args, { encoding: 'utf8' }).trim()
  const folder = mkdtempSync(join(reference, 'packages/benchmarks/dist-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  cpSync(BUILT, folder, { recursive: true })
  return folder
}
