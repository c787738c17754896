// Programs from Debian's and Ubuntu's own packages: unpacked into a cache folder, without root and
// without touching the system, or installed, where the machine is there for nothing else (CI).
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

/** Where the packages of a kind are, whether they are there or not. */
export function unpackedFolder(kind) {
  return join(cache, kind)
}

/**
 * Unpacks packages, those that they stand for, and those of the shared libraries that the machine
 * lacks.
 * @param {string} to the folder, which is made
 * @param {string[]} packages
 * @param {Record<string, string>} programs for each launcher, the program that it starts with those
 *   libraries; a path from the folder, in which `*` stands for a version
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
 * Unpacks packages whose programs need no libraries beside those of every machine.
 * @param {string} to the folder, which is made, and then has usr/bin and the like
 * @param {string[]} packages
 */
export function unpackPlain(to, packages) {
  say(`unpacking the distribution's ${packages.join(', ')} into ${to}`)
  filled(to, packages, () => {})
}

/** Makes a folder with packages and what `complete` adds. */
function filled(to, packages, complete) {
  // Made under a name of its own and then renamed, so that two runs at once do not meet.
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

/** Downloads and unpacks with the first of the apt option sets that works, and returns that set. */
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
 * Package lists of our own in the cache folder, for a machine whose own lists are absent or out of
 * date: this needs no root. They come from where the machine's packages come from, and include the
 * release's backports.
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
  // Not every release has backports: a list that is missing shows in the download that needs it.
  run('apt-get', [...options, '-qq', 'update'], cache)
  return options
}

/**
 * One line for each archive that the machine's own sources name, and one for the backports of its
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
 * Starts the program with the unpacked libraries before the machine's own, from wherever the folder
 * lies.
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

/** The package that one without a version stands for, such as postgresql for postgresql-15. */
function versionOf(folder, name) {
  const deb = debs(folder).find((file) => file.startsWith(`${name}_`))
  const depends = run('dpkg-deb', ['-f', deb, 'Depends'], folder).stdout
  return depends.split(/[\s,]+/).filter((each) => new RegExp(`^${name}-\\d+$`).test(each))
}

/**
 * The libraries that the packages fetched so far ask for and that are neither installed nor
 * fetched.
 */
function libraryPackages(folder) {
  const fetched = debs(folder).map((deb) => deb.split('_')[0])
  const asked = debs(folder).flatMap((deb) =>
    run('dpkg-deb', ['-f', deb, 'Depends'], folder).stdout.split(/[,|]/),
  )
  const names = asked
    .map((item) => item.trim().split(/[ :(]/)[0])
    // What compiles queries is large, and can be left out.
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
