// Finds a redis-server for the tests, or fetches one. Run as a command, it prints the path, alone
// on its last line.
//
//   1. REDIS_SERVER_BIN, a path or a name on PATH
//   2. redis-server, else valkey-server, on PATH
//   3. what an earlier run unpacked into .cache
//   4. Debian and Ubuntu: unpacked from the distribution's packages into .cache
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDebian, unpack, unpackedFolder } from './debian.mjs'
import { answers, say } from './once.mjs'

/** @returns {string} the path of a redis-server that has been run once */
export function redisServerBinary() {
  const asked = process.env.REDIS_SERVER_BIN
  if (asked) {
    if (version(asked)) return asked
    throw new Error(
      `REDIS_SERVER_BIN is '${asked}', which does not run. Give the path of a redis-server.`,
    )
  }
  const found = ['redis-server', 'valkey-server', unpacked('redis')].find((candidate) =>
    version(candidate),
  )
  return found ?? fetched()
}

/**
 * @returns {string} the path of a valkey-server. It is never the default; the compatibility runs
 *   ask for it.
 */
export function valkeyServerBinary() {
  const found = ['valkey-server', unpacked('valkey')].find((candidate) => version(candidate))
  return found ?? checked(unpackServer('valkey'))
}

/** The newest servers of Debian for amd64 that this project was tested with, and SHA-256. */
const NEWEST = {
  redis: [
    'Redis server v=8.0.6',
    '6e8646bf532fb6136bb2b3a6363f3d34f04adb76de855394a4b668193efebf0d',
  ],
  valkey: [
    'Valkey server v=9.1.2',
    '549e8565c4f63447f34764890b80eaeb40e0c70f2008676c6a7da8b3218ee462',
  ],
}

/**
 * @param {'redis' | 'valkey'} kind
 * @returns {string} the path of the newest server of a kind: that of Debian's unstable suite, which
 *   may be a later one than what is recorded here
 */
export function newestServerBinary(kind) {
  const to = unpackedFolder(`newest-${kind}`)
  const server = `${kind}-server`
  const path = join(to, server)
  const packages = [server, `${kind}-tools`]
  const isThere = () => version(path) !== undefined
  unpack(to, packages, { [server]: `usr/bin/${server}` }, isThere, 'unstable')
  const [tested, sum] = NEWEST[kind]
  const found = version(checked(path))
  const bytes = readFileSync(join(to, 'usr/bin', server))
  const isSame = createHash('sha256').update(bytes).digest('hex') === sum || process.arch !== 'x64'
  if (found !== tested || !isSame) {
    const what = found === tested ? 'built again' : found
    say(`not what was tested last, ${tested}: ${what}. Update NEWEST in servers/redis.mjs`)
  }
  return path
}

/**
 * The output of `--version`, such as 'Redis server v=7.0.15', or undefined if the program is
 * missing or does not run.
 */
export function version(binary) {
  const { status, stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' })
  return status === 0 ? stdout.split(' ').slice(0, 3).join(' ') : undefined
}

function fetched() {
  if (!isDebian()) {
    throw new Error(
      'No redis-server found. The tests run against a real one: install Redis 6.2 or later, or Valkey ' +
        '(for example `brew install redis`), or set REDIS_SERVER_BIN to its path.',
    )
  }
  return checked(unpackServer('redis'))
}

/** The path of the unpacked server of a kind ('redis' or 'valkey'), which may not exist yet. */
function unpacked(kind) {
  return join(unpackedFolder(kind), `${kind}-server`)
}

function unpackServer(kind) {
  const server = `${kind}-server`
  const programs = { [server]: `usr/bin/${server}` }
  const isThere = () => version(unpacked(kind)) !== undefined
  unpack(unpackedFolder(kind), [server, `${kind}-tools`], programs, isThere)
  return unpacked(kind)
}

function checked(binary) {
  if (!version(binary))
    throw new Error(`${binary} was fetched but does not run: ${missingLibraries(binary)}`)
  return binary
}

function missingLibraries(binary) {
  return spawnSync('ldd', [binary], { encoding: 'utf8' }).stdout || 'ldd has nothing to say'
}

answers(import.meta.url, (kind, newest) => {
  if (newest === 'newest') return newestServerBinary(kind)
  return kind === 'valkey' ? valkeyServerBinary() : redisServerBinary()
})
