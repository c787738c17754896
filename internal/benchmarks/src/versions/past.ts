// Weir 0.1, to run beside the present.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILT } from '../child.js'

let copy: string | undefined

/**
 * A copy of these benchmarks, where `@weir/*` is that of 0.1, built from git history. It is there
 * until the process ends.
 */
export function built01(): string {
  if (copy !== undefined) return copy
  const tool = fileURLToPath(new URL('../../../../tools/reference.mjs', import.meta.url))
  const reference = execFileSync(process.execPath, [tool], { encoding: 'utf8' }).trim()
  const folder = mkdtempSync(join(reference, 'packages/benchmarks/dist-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  cpSync(BUILT, folder, { recursive: true })
  copy = folder
  return folder
}
