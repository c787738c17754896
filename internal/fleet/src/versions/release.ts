// A released version of @weir/core, built from its commit once, and kept as a tarball that is named
// by a hash of its files, so that comparisons always use the same build.

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { root } from '../places/places.js'

const KEPT = join(root, '.cache/weir/releases')
/** The installed parts of a package. */
const RELEASED = ['package.json', 'dist']

export interface Release {
  readonly commit: string
  readonly tarball: string
  /** The folder with the unpacked files, which exists until the process ends. */
  readonly folder: string
}

/**
 * @param kept the folder of the tarballs
 * @throws {Error} if the commit is not in this clone
 */
export function releaseAt(name: string, kept: string = KEPT): Release {
  const commit = commitOf(name)
  mkdirSync(kept, { recursive: true })
  const { tarball, folder } = unpacked(commit, kept) ?? built(commit, kept)
  return { commit, tarball, folder }
}

function commitOf(name: string): string {
  const found = git('rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`)
  if (found !== undefined) return found
  throw new Error(`commit ${name} is not in this clone. Fetch it: git fetch --unshallow`)
}

/** Returns undefined if git fails. */
function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 && stdout.trim() !== '' ? stdout.trim() : undefined
}

/**
 * The commit of the last release: the tag of the version in package.json, or else the commit that
 * set that version. Undefined if this clone does not have its history.
 */
export function lastRelease(): { readonly version: string; readonly commit: string } | undefined {
  const manifest = 'packages/core/package.json'
  const { version } = JSON.parse(readFileSync(join(root, manifest), 'utf8')) as { version: string }
  const tags = [`v${version}`, `@weir/core@${version}`]
  const tagged = tags.map((tag) => git('rev-parse', '--verify', '--quiet', `${tag}^{commit}`))
  // In a shallow clone, the oldest commit seems to have made every file.
  const isShallow = git('rev-parse', '--is-shallow-repository') !== 'false'
  const line = `"version": "${version}"`
  const raised = isShallow
    ? undefined
    : git('log', '-1', '--format=%H', `-S${line}`, '--', manifest)
  const commit = tagged.find((each) => each !== undefined) ?? raised
  return commit === undefined ? undefined : { version, commit }
}

/** The unpacked build of a commit, if the hash in its name is right. */
function unpacked(commit: string, kept: string): Omit<Release, 'commit'> | undefined {
  const name = readdirSync(kept).find((each) => each.startsWith(`core-${commit}-`))
  if (name === undefined) return undefined
  const tarball = join(kept, name)
  const folder = temporary('weir-release-')
  const { status } = spawnSync('tar', ['-xzf', tarball, '-C', folder])
  if (status === 0 && basename(tarball) === nameOf(commit, folder)) return { tarball, folder }
  rmSync(tarball)
  return undefined
}

function built(commit: string, kept: string): Omit<Release, 'commit'> {
  const tool = join(root, 'tools/reference.mjs')
  const reference = execFileSync(process.execPath, [tool, commit], { encoding: 'utf8' }).trim()
  const core = join(reference, 'packages/core')
  execFileSync('tar', ['-czf', join(kept, nameOf(commit, core)), '-C', core, ...RELEASED])
  const made = unpacked(commit, kept)
  if (made === undefined) throw new Error(`the release of ${commit} could not be packed`)
  return made
}

function nameOf(commit: string, folder: string): string {
  return `core-${commit}-${hashOf(folder).slice(0, 16)}.tgz`
}

/** The hash of the paths and the contents of all files. */
function hashOf(folder: string): string {
  const hash = createHash('sha256')
  const files = RELEASED.flatMap((name) => filesIn(folder, name)).sort()
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(folder, file)))
  return hash.digest('hex')
}

function filesIn(folder: string, name: string): string[] {
  if (name.endsWith('.json')) return [name]
  return readdirSync(join(folder, name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

const folders: string[] = []

/** A folder that exists until the process ends. */
export function temporary(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  if (folders.length === 0) process.once('exit', removeFolders)
  folders.push(folder)
  return folder
}

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}
