// Updates the pull request of the next version from the branch that next-version.mjs has made.
//
//   node tools/release/version-pull-request.mjs FOLDER
//
// Installs nothing, since its job has write access. The branch was made by a job that ran
// third-party code, so this script pushes it only if it changes nothing but what a version changes.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { git, gitLines } from './git.mjs'
import { notesOfAll } from './notes.mjs'
import { manifestIn } from './packages.mjs'
import { BRANCH, BUNDLE, PENDING } from './version-branch.mjs'

/** The files that a version changes. */
const VERSIONED = /^(\.changeset\/[\w.-]+\.md|packages\/[\w-]+\/(CHANGELOG\.md|package\.json))$/

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('give the folder that next-version.mjs has left')
const root = process.cwd()
const { GH_TOKEN: token = '' } = process.env
if (readFileSync(join(folder, PENDING), 'utf8') === '') console.log('no changeset is pending')
else propose(folder)

/** @param {string} folder */
function propose(folder) {
  const base = git(root, 'rev-parse', '--abbrev-ref', 'HEAD')
  git(root, 'fetch', '--quiet', join(folder, BUNDLE), `+${BRANCH}:${BRANCH}`)
  checkBranch()
  git(root, 'switch', '--quiet', BRANCH)
  const { version } = manifestIn(join(root, 'packages/core'))
  const pushed = ['push', '--quiet', '--force', 'origin', BRANCH]
  execFileSync('git', pushed, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...asHeader(token) },
  })
  const text = `Merge this to have ${version}, and push the tag v${version} to publish it.\n\n${notesOfAll(root, version, undefined)}`
  const about = ['--title', `release: ${version}`, '--body', text]
  const open = gh('pr', 'list', '--head', BRANCH, '--state', 'open', '--json', 'number')
  if (JSON.parse(open).length > 0) gh('pr', 'edit', BRANCH, ...about)
  else gh('pr', 'create', '--head', BRANCH, '--base', base, ...about)
  console.log(`the pull request of ${version} is that of ${BRANCH}`)
}

/** @throws {Error} unless the branch is this commit with a version on top */
function checkBranch() {
  const commits = gitLines(root, 'rev-list', `HEAD..${BRANCH}`)
  if (
    commits.length !== 1 ||
    git(root, 'rev-parse', `${BRANCH}^@`) !== git(root, 'rev-parse', 'HEAD')
  )
    throw new Error(`${BRANCH} is not one commit on top of this one`)
  const changed = gitLines(root, 'diff', '--name-only', '--no-renames', 'HEAD', BRANCH)
  const other = changed.filter((path) => !VERSIONED.test(path))
  if (other.length > 0)
    throw new Error(`${BRANCH} changes what no version changes: ${other.join(', ')}`)
}

/**
 * Passes a token to git without writing it into the clone.
 * @param {string} token
 */
function asHeader(token) {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64')
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.https://github.com/.extraheader',
    GIT_CONFIG_VALUE_0: `AUTHORIZATION: basic ${basic}`,
  }
}

/**
 * @param {readonly string[]} args
 * @returns {string}
 */
function gh(...args) {
  return execFileSync('gh', args, { cwd: root, encoding: 'utf8' })
}
