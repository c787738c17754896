// Finds PostgreSQL for the tests, or fetches it. Run as a command, it prints on its last line, as
// JSON, the folder of the programs and the user to run them as.
//
//   1. the newest installation of Debian or Ubuntu, else the one on PATH
//   2. what an earlier run unpacked
//   3. Debian's and Ubuntu's packages, unpacked without root
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { isDebian, unpack, unpackedFolder } from './debian.mjs'
import { answers } from './once.mjs'

const OLDEST = 13
const INSTALLED = '/usr/lib/postgresql'
const PROGRAMS = ['initdb', 'postgres']

/**
 * @returns {{ folder: string, user?: { uid: number, gid: number } }} a folder with `initdb` and
 *   `postgres`, and the user under which they have been run once; the current user if there is none
 */
export function postgresPrograms() {
  const user = otherUser()
  // Folders that this user may read and the other may not are useless to the other.
  const places = [unpackedFolder('postgres'), join(tmpdir(), 'weir-postgres')]
  const candidates = [...installed(), ...(process.env.PATH ?? '').split(delimiter), ...places]
  const known = candidates.find((folder) => runs(folder, user))
  if (known !== undefined) return { folder: known, user }
  const right = `put initdb and postgres, ${OLDEST} or later, on PATH`
  if (!isDebian())
    throw new Error(`no PostgreSQL found; the tests run against a real one: ${right}`)
  const repository = join(unpackedFolder('postgres'), '../..')
  const folder = isReachable(repository, user) ? places[0] : places[1]
  const programs = PROGRAMS.map((name) => [name, `usr/lib/postgresql/*/bin/${name}`])
  unpack(folder, ['postgresql'], Object.fromEntries(programs), () => runs(folder, user))
  if (!runs(folder, user))
    throw new Error(`PostgreSQL was fetched into ${folder}, and does not run: ${right}`)
  return { folder, user }
}

/** Another user, since PostgreSQL does not run as root. */
function otherUser() {
  if (process.getuid?.() !== 0) return undefined
  const [uid, gid] = ['-u', '-g'].map((which) =>
    Number(spawnSync('id', [which, 'nobody'], { encoding: 'utf8' }).stdout),
  )
  return { uid, gid }
}

function installed() {
  if (!existsSync(INSTALLED)) return []
  const newestFirst = readdirSync(INSTALLED).sort((one, other) => Number(other) - Number(one))
  return newestFirst.map((version) => join(INSTALLED, version, 'bin'))
}

function isReachable(folder, user) {
  return spawnSync('test', ['-x', folder], { ...user, cwd: '/' }).status === 0
}

function runs(folder, user) {
  return PROGRAMS.every((name) => {
    if (folder === '') return false
    const options = { ...user, cwd: '/', encoding: 'utf8' }
    const { status, stdout } = spawnSync(join(folder, name), ['--version'], options)
    return status === 0 && Number(/\d+/.exec(stdout)?.[0]) >= OLDEST
  })
}

answers(import.meta.url, () => JSON.stringify(postgresPrograms()))
