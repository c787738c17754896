// Finds a Chromium for tests of pages, or fetches one. Run as a command, it prints the path, alone
// on its last line.
//
//   1. WEIR_CHROMIUM, a path or a name on PATH
//   2. chromium, else google-chrome, on PATH
//   3. what an earlier run unpacked into .cache
//   4. Debian: unpacked from the distribution's packages into .cache
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isDebian, unpack, unpackedFolder } from './debian.mjs'
import { answers } from './once.mjs'

/** Chromium without windows: less to unpack, and to do for each page. */
const SHELL = 'chromium-headless-shell'

const RIGHT = 'install Chromium (apt-get install chromium), or set WEIR_CHROMIUM to its path'

/** @returns {string} the path of a Chromium that has been run once */
export function chromiumBinary() {
  const asked = process.env.WEIR_CHROMIUM
  if (asked) {
    const found = runningPath(asked)
    if (found !== undefined) return found
    throw new Error(`WEIR_CHROMIUM is '${asked}', which does not run: ${RIGHT}`)
  }
  const unpacked = join(unpackedFolder(SHELL), SHELL)
  for (const candidate of ['chromium', 'google-chrome', unpacked]) {
    const found = runningPath(candidate)
    if (found !== undefined) return found
  }
  if (!isDebian()) throw new Error(`no Chromium found, by which pages are tested: ${RIGHT}`)
  const isThere = () => runningPath(unpacked) !== undefined
  const programs = { [SHELL]: `usr/lib/chromium/${SHELL}` }
  unpack(unpackedFolder(SHELL), [SHELL, 'chromium-common'], programs, isThere)
  if (!isThere()) throw new Error(`Chromium was fetched and does not run: ${RIGHT}`)
  return unpacked
}

/** The path of the program if it runs; otherwise undefined. */
function runningPath(program) {
  const folders = program.includes('/') ? [''] : (process.env.PATH ?? '').split(delimiter)
  return folders
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path) && spawnSync(path, ['--version']).status === 0)
}

answers(import.meta.url, chromiumBinary)
