// Programs from the packages of Debian and Ubuntu. They are either unpacked into a cache folder,
// which needs no root and does not touch the system, or installed, on machines that exist only for
// that (CI).
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const cache = fileURLToPath(new URL('../../../.cache/', import.meta.url))

export function isDebian() {
  return existsSync('/etc/debian_version') && spawnSync('apt-get', ['--version']).status === 0
}

/** Installs packages for the whole machine. Needs root. */
export function install(packages) {
  say(`installing ${packages.join(', ')} with apt-get`)
  // RUNLEVEL=1 keeps a package from starting its service.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const aptGet = (...args) =>
    execFileSync('apt-get', ['-qq', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  aptGet('update')
  aptGet('install', '--yes', '--no-install-recommends', ...packages)
}

/** The folder for packages of a kind, which may not exist yet. */
export function unpackedFolder(kind) {
  return join(cache, kind)
}

/**
 * Unpacks packages and their shared libraries, unless the machine has those already. Package names
 * without a version stand for the current version.
 * @param {string} to the folder, which is created
 * @param {string[]} packages
 * @param {Record<string, string>} programs for each launcher, the program that it starts with those
 *   libraries; a path relative to the folder, in which `*` stands for a version
 */
export function unpack(to, packages, programs) {
  say(`unpacking the distribution's ${packages.join(', ')} into ${to}`)
  filled(to, packages, (folder, options) => {
    const versions = packages.flatMap((name) => versionOf(folder, name))
    if (versions.length > 0) download(folder, versions, [options])
    for (const [name, program] of Object.entries(programs)) writeLauncher(folder, name, program)
    const lacks = () => Object.keys(programs).some((name) => lacksLibraries(folder, name))
    for (let round = 0; round < 3 && lacks(); round++) {
      download(folder, libraryPackages(folder), [options])
    }
  })
}

/**
 * Unpacks packages whose programs need no libraries beyond those of every machine.
 * @param {string} to the folder, which is created, and then contains usr/bin and the like
 * @param {string[]} packages
 */
export function unpackPlain(to, packages) {
  say(`unpacking the distribution's ${packages.join(', ')} into ${to}`)
  filled(to, packages, () => {})
}

/** Creates a folder with packages and with what `complete` adds. */
function filled(to, packages, complete) {
  // Created under another name and then renamed, so that two runs at once do not meet.
  const folder = `${to}.${process.pid}`
  mkdirSync(folder, { recursive: true })
  try {
    complete(folder, download(folder, packages))
    rmSync(to, { recursive: true, force: true })
    renameSync(folder, to)
  } catch (error) {
    throw new Error(
      `could not fetch ${packages[0]}: install it by hand (apt-get install ${packages[0]}).\n${error.message}`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Downloads and unpacks with the first set of apt options that works, and returns that set. */
function download(folder, packages, attempts = [() => [], freshLists]) {
  const failures = []
  for (const attempt of attempts) {
    const options = attempt()
    const { status, stderr } = run('apt-get', [...options, '-qq', 'download', ...packages], folder)
    if (status !== 0) {
      failures.push(stderr.trim())
      continue
    }
    for (const deb of debs(folder)) run('dpkg-deb', ['-x', deb, '.'], folder)
    return () => options
  }
  throw new Error(failures.join('\n'))
}

/**
 * Separate package lists in the cache folder, for a machine whose lists are missing or out of date.
 * They need no root. They come from the machine's own package sources, and include the backports of
 * its release.
 */
function freshLists() {
  say('fetching package lists into .cache/apt')
  const state = join(cache, 'apt')
  for (const part of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(state, part), { recursive: true })
  const sources = join(state, 'sources.list')
  writeFileSync(sources, sourceLines().join(''))
  const settings = {
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Dir::Cache': join(state, 'cache'),
    'Dir::Etc::SourceList': sources,
    'Dir::Etc::SourceParts': '-',
    'Dir::State': join(state, 'state'),
    'Dir::State::Lists': join(state, 'state', 'lists'),
    'Dir::State::status': '/var/lib/dpkg/status',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  // Not every release has backports. A missing list shows in the download that needs it.
  run('apt-get', [...options, '-qq', 'update'], cache)
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
function writeLauncher(folder, name, program) {
  const launcher = `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$(echo "$here"/usr/lib/*-linux-gnu*)\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here"/${program} "$@"
`
  writeFileSync(join(folder, name), launcher)
  chmodSync(join(folder, name), 0o755)
}

function lacksLibraries(folder, name) {
  return run(join(folder, name), ['--version'], folder).status !== 0
}

/** The package behind a name without a version, such as postgresql-15 for postgresql. */
function versionOf(folder, name) {
  const deb = debs(folder).find((file) => file.startsWith(`${name}_`))
  const depends = run('dpkg-deb', ['-f', deb, 'Depends'], folder).stdout
  return depends.split(/[\s,]+/).filter((each) => new RegExp(`^${name}-\\d+$`).test(each))
}

/**
 * The libraries that the fetched packages depend on and that are neither installed nor fetched.
 */
function libraryPackages(folder) {
  const fetched = debs(folder).map((deb) => deb.split('_')[0])
  const asked = debs(folder).flatMap((deb) =>
    run('dpkg-deb', ['-f', deb, 'Depends'], folder).stdout.split(/[,|]/),
  )
  const names = asked
    .map((item) => item.trim().split(/[ :(]/)[0])
    // LLVM compiles queries; it is large, and can be left out.
    .filter((name) => /^(lib(?!llvm)|lua)/.test(name))
  return [...new Set(names)].filter((name) => !fetched.includes(name) && !isInstalled(name))
}

function isInstalled(name) {
  return run('dpkg-query', ['-s', name], cache).stdout.includes('ok installed')
}

function debs(folder) {
  return readdirSync(folder).filter((file) => file.endsWith('.deb'))
}

function run(command, args, cwd) {
  return spawnSync(command, args, { cwd, encoding: 'utf8' })
}

function say(text) {
  console.log(`weir: ${text}`)
}
