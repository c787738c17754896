// Keeps the pull request of the next version: a branch in which the pending changesets have become
// versions and changelogs.
//
//   node internal/release/version-pull-request.mjs [--local]
//
// With --local it makes the branch here, and pushes and opens nothing.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pnpmCommand } from '../../scripts/pnpm.mjs'
import { pendingChangesets } from './changesets.mjs'
import { git } from './git.mjs'
import { notesOf } from './notes.mjs'
import { manifestIn } from './packages.mjs'

const BRANCH = 'next-version'
const AUTHOR = 'github-actions[bot]'
const EMAIL = '41898282+github-actions[bot]@users.noreply.github.com'

const root = process.cwd()
// What is installed and run here does not need the right to write.
const { GH_TOKEN: token = '', ...env } = process.env
const pending = pendingChangesets(root)
if (pending.length === 0) console.log('no changeset is pending')
else proposed()

function proposed() {
  if (git(root, 'status', '--porcelain') !== '') throw new Error('commit what is changed first')
  const base = git(root, 'rev-parse', '--abbrev-ref', 'HEAD')
  git(root, 'switch', '--quiet', '--force-create', BRANCH)
  /** @type {import('node:child_process').ExecFileSyncOptions} */
  const here = { cwd: root, stdio: 'inherit', env }
  if (!existsSync(join(root, 'node_modules'))) {
    const [pnpm = 'pnpm', ...before] = pnpmCommand()
    execFileSync(pnpm, [...before, 'install', '--frozen-lockfile'], here)
  }
  execFileSync(process.execPath, ['node_modules/@changesets/cli/bin.js', 'version'], here)
  const { version } = manifestIn(join(root, 'packages/core'))
  const title = `release: ${version}`
  git(root, 'add', '--all')
  const identity = ['-c', `user.name=${AUTHOR}`, '-c', `user.email=${EMAIL}`]
  git(root, ...identity, 'commit', '--quiet', '--message', title)
  console.log(`${BRANCH} has ${version}, of ${pending.length} changesets`)
  if (process.argv.includes('--local')) return
  const pushed = ['push', '--quiet', '--force', 'origin', BRANCH]
  execFileSync('git', pushed, { ...here, env: { ...env, ...asHeader(token) } })
  const notes = notesOf(readFileSync(join(root, 'packages/core/CHANGELOG.md'), 'utf8'), version)
  const text = `Merge this to have ${version}, and push the tag v${version} to publish it.\n\n${notes}`
  const about = ['--title', title, '--body', text]
  const open = gh('pr', 'list', '--head', BRANCH, '--state', 'open', '--json', 'number')
  if (JSON.parse(open).length > 0) gh('pr', 'edit', BRANCH, ...about)
  else gh('pr', 'create', '--head', BRANCH, '--base', base, ...about)
}

/**
 * How git is given a token without writing it into the clone, or where other processes read it.
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
