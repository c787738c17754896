// Stages the tarballs of a release on the registry, from which a maintainer releases them.
//
//   node tools/release/stage.mjs FOLDER
//
// Runs in the workflow that the registry trusts. It refuses a name that was never published, since
// a trusted publisher can be set only for an existing package.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The first npm that can stage is 11.15. If Node has an older one, this one is downloaded, pinned
 * by its version, which the registry never reuses.
 */
const NPM = 'npm@11.19.1'
const BY_HAND = 'docs/releasing.md#the-first-version-of-a-package'

const [folder] = process.argv.slice(2)
try {
  if (folder === undefined) throw new Error('give the folder that npm run release has left')
  stage(folder)
} catch (error) {
  console.error(`staging refused: ${/** @type {Error} */ (error).message}`)
  process.exitCode = 1
}

/** @param {string} folder */
function stage(folder) {
  const tarballs = checkedTarballs(folder).map((path) => ({ path, ...aboutTarball(path) }))
  const known = tarballs.map((tarball) => ({ ...tarball, versions: versionsOf(tarball.name) }))
  const never = known.filter(({ versions }) => versions === undefined).map(({ name }) => name)
  if (never.length > 0)
    throw new Error(
      `never published, so that the registry can trust no workflow with it: ${never.join(', ')}. Publish the first version by hand: ${BY_HAND}`,
    )
  for (const { path, name, version, versions } of known) {
    if (versions?.includes(version)) {
      checkPublished(`${name}@${version}`, path)
      console.log(`${name}@${version} is published already`)
    } else npm('stage', 'publish', path, '--access', 'public')
  }
}

/**
 * @param {string} version a published version, such as `@weir/core@1.0.0`
 * @param {string} path of its local tarball
 * @throws {Error} if another tarball was published
 */
function checkPublished(version, path) {
  const found = execFileSync('npm', ['view', version, 'dist.integrity'], {
    encoding: 'utf8',
  }).trim()
  const packed = `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}`
  if (found !== packed)
    throw new Error(
      `${version} is published, and is not ${path}: the registry has ${found}, and ${packed} was packed. Look at what differs; a version cannot be replaced, so release the next one`,
    )
}

/**
 * @param {string} folder
 * @returns {string[]} tarballs that have not changed since they were packed; core comes first
 */
function checkedTarballs(folder) {
  const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trimEnd().split('\n')
  return sums.map((line) => {
    const [sum, file = ''] = line.split('  ')
    const path = join(folder, file)
    const found = createHash('sha256').update(readFileSync(path)).digest('hex')
    if (found !== sum) throw new Error(`${path} is not what was packed: pack it anew`)
    // npm takes a bare file name for the name of a package.
    return path.startsWith('/') ? path : `./${path}`
  })
}

/**
 * @param {string} tarball
 * @returns {{ name: string, version: string }}
 */
function aboutTarball(tarball) {
  const text = execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' })
  return JSON.parse(text)
}

/**
 * @param {string} name
 * @returns {string[] | undefined} undefined if there is no such package
 */
function versionsOf(name) {
  const args = ['view', name, 'versions', '--json']
  const { status, stdout, stderr } = spawnSync('npm', args, { encoding: 'utf8' })
  if (status === 0) return [JSON.parse(stdout)].flat()
  if (/E404/.test(stdout + stderr)) return undefined
  throw new Error(`npm view ${name}: ${(stderr || stdout).trim()}`)
}

/** @param {readonly string[]} args */
function npm(...args) {
  const version = execFileSync('npm', ['--version'], { encoding: 'utf8' }).trim()
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const canStage = major > 11 || (major === 11 && minor >= 15)
  const [command = 'npm', ...before] = canStage ? ['npm'] : ['npx', '--yes', NPM]
  execFileSync(command, [...before, ...args], { stdio: 'inherit' })
}
