// A released version of @weir/core, built from its commit once, and kept in .cache/weir.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../places/places.js'

/**
 * The folder of @weir/core as it was at a commit.
 * @throws {Error} if the commit is not in this clone
 */
export function releaseAt(commit: string): string {
  const tool = [join(root, 'tools/reference.mjs'), commit]
  const { status, stdout, stderr } = spawnSync(process.execPath, tool, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr.trim())
  return join(stdout.trim(), 'packages/core')
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

/** A folder that exists until the process ends. */
export function temporary(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
