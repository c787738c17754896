// Programs from the packages of Debian and Ubuntu, unpacked into a cache folder: that needs no root
// and does not touch the system.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { alone, once, say } from './once.mjs'

const cache = fileURLToPath(new URL('../../../.cache/', import.meta.url))
const downloader = fileURLToPath(new URL('download.mjs', import.meta.url))
/** How long package lists are fresh. Whoever fetches another program then uses the same. */
const LISTS_MS = 3_600_000

export function isDebian() {
  return existsSync('/etc/debian_version') && spawnSync('apt-get', ['--version']).status === 0
}

/** The folder for packages of a kind, which may not exist yet. */
export function unpackedFolder(kind) {
  return join(cache, kind)
}

/**
 * Unpacks packages and the libraries that they need and the machine does not have, unless somebody
 * has, or does so now.
 * @param {string} to the folder
 * @param {string[]} packages names without a version stand for the current version
 * @param {Record<string, string>} programs for each launcher, the program that it starts with those
 *   libraries; a path relative to the folder, in which `*` stands for a version
 * @param {() => boolean} isThere whether the programs run
 * @param {string} [suite] of Debian, such as `unstable`, whatever the machine has: the programs are
 *   started with its C library
 */
export function unpack(to, packages, programs, isThere, suite) {
  once(to, isThere, (folder) => {
    const debs = join(folder, 'debs')
    download(debs, packages, suite)
    for (const deb of readdirSync(debs)) ran('dpkg-deb', ['-x', join(debs, deb), '.'], folder)
    rmSync(debs, { recursive: true })
    const start = suite === undefined ? 'exec' : 'exec "$here"/usr/lib*/ld-linux*.so.* --argv0 "$0"'
    for (const [name, program] of Object.entries(programs))
      writeLauncher(folder, name, program, start)
  })
}

/** Downloads with the machine's package lists, else with fresh ones; or from a suite. */
function download(folder, packages, suite) {
  const failures = []
  const lists = suite === undefined ? [() => [], freshLists] : [() => listsOfSuite(suite)]
  for (const listsOf of lists) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
    // Root may write into folders that the user of apt's downloads may not.
    const options = ['-o', 'APT::Sandbox::User=root', ...listsOf()]
    try {
      const needed = neededFor(folder, packages, options, suite)
      const names = needed.map(({ name }) => name)
      const args = [downloader, described(packages, needed), ...options, ...names]
      ran(process.execPath, args, folder, 'inherit')
      return
    } catch (error) {
      failures.push(error.message)
    }
  }
  const [first] = packages
  throw new Error(
    `could not fetch ${first}: install it by hand (apt-get install ${first}).\n${failures.join('\n')}`,
  )
}

/** Of what an installation would fetch, the packages themselves and libraries, with their sizes. */
function neededFor(folder, packages, options, suite) {
  const ask = ['--print-uris', '--yes', '--no-install-recommends', '--reinstall', 'install']
  // Otherwise what apt has in its archive is left out.
  const noArchive = ['-o', `Dir::Cache::Archives=${folder}`]
  const uris = ran('apt-get', [...options, ...noArchive, '-qq', ...ask, ...packages], folder)
  // 'http://.../redis-server_7.0.15-1_amd64.deb' redis-server_7.0.15-1_amd64.deb 73392 SHA256:...
  const all = [...uris.matchAll(/^'\S+' ([^_\s]+)_\S+ (\d+)/gm)]
  // postgresql-15 is the package behind postgresql. LLVM compiles its queries; it is large, and can
  // be left out.
  // The machine has a C library, unless the packages are of another suite.
  const isWanted = ([, name]) =>
    packages.includes(name.replace(/-\d+$/, '')) ||
    /^(lib(?!llvm|c6|js-)|lua)/.test(name) ||
    (suite !== undefined && /^(libc6|zlib1g)$/.test(name))
  return all.filter(isWanted).map(([, name, bytes]) => ({ name, bytes: Number(bytes) }))
}

function described(packages, needed) {
  const libraries = needed.filter(({ name }) => /^l/.test(name)).length
  const megabytes = needed.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6
  const size = `${megabytes < 10 ? megabytes.toFixed(1) : Math.round(megabytes)} MB`
  const others = libraries === 0 ? '' : ` and ${libraries} libraries`
  return `fetching ${packages[0]}${others}, ${size}`
}

/**
 * Separate package lists in the cache folder, for a machine whose lists are missing or out of date.
 * They need no root. They come from the machine's own package sources, and include the backports of
 * its release.
 */
function freshLists() {
  return listsIn(join(cache, 'apt'), '/var/lib/dpkg/status', sourceLines)
}

/** The lists of a suite of Debian, for a machine on which nothing is installed. */
function listsOfSuite(suite) {
  return listsIn(join(cache, `apt-${suite}`), '/dev/null', () => {
    const own = sourceLines().map((line) => /\S+\/debian(?= )/.exec(line)?.[0])
    const archive = own.find((each) => each !== undefined) ?? 'http://deb.debian.org/debian'
    return [`deb [signed-by=${keyringOfDebian()}] ${archive} ${suite} main\n`]
  })
}

/** The keys of Debian's archive, which Ubuntu has as a package. */
function keyringOfDebian() {
  const name = 'debian-archive-keyring'
  const path = `/usr/share/keyrings/${name}.gpg`
  if (existsSync(path)) return path
  const to = unpackedFolder(name)
  unpack(to, [name], {}, () => existsSync(join(to, path)))
  return join(to, path)
}

/**
 * @param {string} state the folder of the lists
 * @param {string} status the file that says what is installed
 * @param {() => string[]} sources
 */
function listsIn(state, status, sources) {
  const list = join(state, 'sources.list')
  const settings = {
    'Acquire::Languages': 'none',
    'Dir::Cache': join(state, 'cache'),
    'Dir::Etc::SourceList': list,
    'Dir::Etc::SourceParts': '-',
    'Dir::State': join(state, 'state'),
    'Dir::State::Lists': join(state, 'state', 'lists'),
    'Dir::State::status': status,
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const done = join(state, 'done')
  const isFresh = () => existsSync(done) && Date.now() - statSync(done).mtimeMs < LISTS_MS
  alone(state, () => {
    if (isFresh()) return
    say(`fetching package lists into .cache/${basename(state)}`)
    for (const part of ['state/lists/partial', 'cache/archives/partial'])
      mkdirSync(join(state, part), { recursive: true })
    writeFileSync(list, sources().join(''))
    // Not every release has backports. A missing list shows in the download that needs it.
    run('apt-get', [...options, '-qq', 'update'], cache)
    writeFileSync(done, '')
  })
  return options
}

/**
 * One line for each archive among the machine's own sources, and one for the backports of its
 * release.
 */
function sourceLines() {
  const about = readFileSync('/etc/os-release', 'utf8')
  const codename = /^VERSION_CODENAME=(\w+)/m.exec(about)?.[1]
  const components = /^ID=ubuntu/m.test(about) ? 'main universe' : 'main'
  const keyrings = ['debian', 'ubuntu'].map(
    (name) => `/usr/share/keyrings/${name}-archive-keyring.gpg`,
  )
  const keyring = keyrings.find((path) => existsSync(path))
  const signed = keyring ? `[signed-by=${keyring}] ` : ''
  const uris = run('apt-get', ['--print-uris', 'update'], cache).stdout
  return [...uris.matchAll(/^'(\S+)\/dists\/(\S+)\/InRelease'/gm)]
    .flatMap(([, archive, release]) => {
      if (release === codename)
        return [
          [archive, release],
          [archive, `${release}-backports`],
        ]
      return release.startsWith(`${codename}-`) ? [[archive, release]] : []
    })
    .map(([archive, release]) => `deb ${signed}${archive} ${release} ${components}\n`)
}

/**
 * Writes a script that starts the program with the unpacked libraries before the machine's own,
 * wherever the folder is.
 */
function writeLauncher(folder, name, program, start) {
  const launcher = `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
# Some libraries have a folder of their own, such as those of PulseAudio.
libraries=$(printf ':%s' "$here"/usr/lib/*-linux-gnu* "$here"/usr/lib/*-linux-gnu*/*/)
export LD_LIBRARY_PATH="\${libraries#:}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
${start} "$here"/${program} "$@"
`
  writeFileSync(join(folder, name), launcher)
  chmodSync(join(folder, name), 0o755)
}

/** Runs a command that must succeed. Returns what it printed. */
function ran(command, args, cwd, stderrTo = 'pipe') {
  const options = { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', stderrTo] }
  const { status, stdout, stderr } = spawnSync(command, args, options)
  if (status !== 0) throw new Error((stderr || stdout).trim())
  return stdout
}

function run(command, args, cwd) {
  return spawnSync(command, args, { cwd, encoding: 'utf8' })
}
