// Finds an nginx for tests behind a proxy, or fetches one. Run as a command, it prints the path,
// alone on its last line.
//
//   1. nginx on PATH, or where Debian has it
//   2. what an earlier run unpacked into .cache
//   3. Debian: unpacked from its packages into .cache
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { isDebian, unpack, unpackedFolder } from './debian.mjs'
import { answers } from './once.mjs'

const DEBIAN = '/usr/sbin/nginx'

/** @returns {string} the path of an nginx that has been run once */
export function nginxBinary() {
  const unpacked = join(unpackedFolder('nginx'), 'nginx')
  const found = ['nginx', DEBIAN, unpacked].find(runs)
  if (found !== undefined) return found
  const right = 'install it (apt-get install nginx-light)'
  if (!isDebian()) throw new Error(`no nginx found, behind which pages are tested: ${right}`)
  const programs = { nginx: 'usr/sbin/nginx' }
  unpack(unpackedFolder('nginx'), ['nginx'], programs, () => runs(unpacked))
  if (!runs(unpacked)) throw new Error(`nginx was fetched and does not run: ${right}`)
  return unpacked
}

function runs(program) {
  return spawnSync(program, ['-v']).status === 0
}

answers(import.meta.url, nginxBinary)
