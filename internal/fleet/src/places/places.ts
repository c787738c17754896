// Where things are, for the sources and for the built files.

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root: string = rootAbove(dirname(fileURLToPath(import.meta.url)))

/**
 * A built file of this package: processes always run those, even if the sources start them, as in
 * tests.
 * @param source its path in `src`, without an ending
 */
export function builtFrom(source: string): string {
  return join(root, 'internal/fleet/dist/internal/fleet/src', `${source}.js`)
}

function rootAbove(folder: string): string {
  return existsSync(join(folder, 'pnpm-workspace.yaml')) ? folder : rootAbove(dirname(folder))
}
