// Makes the branch of the next version, in which the pending changesets have become versions and
// changelogs.
//
//   node tools/release/next-version.mjs FOLDER
//
// Leaves in FOLDER a bundle of that branch, or none if no changeset is pending. This script
// installs and runs third-party code, so its job has no write access. Another job, which installs
// nothing, proposes the branch: version-pull-request.mjs.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pnpmCommand } from '../../scripts/pnpm.mjs'
import { pendingChangesets } from './changesets.mjs'
import { git } from './git.mjs'
import { manifestIn } from './packages.mjs'
import { BRANCH, BUNDLE, PENDING } from './version-branch.mjs'

const AUTHOR = 'github-actions[bot]'
const EMAIL = '41898282+github-actions[bot]@users.noreply.github.com'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('give a folder for what is to be proposed')
const root = process.cwd()
const to = resolve(folder)
const pending = pendingChangesets(root)
if (pending.length > 0) makeBranch()
else console.log('no changeset is pending')
mkdirSync(to, { recursive: true })
writeFileSync(join(to, PENDING), pending.map((path) => `${path}\n`).join(''))
if (pending.length > 0)
  git(root, 'bundle', 'create', '--quiet', join(to, BUNDLE), `${BRANCH}^..${BRANCH}`)

function makeBranch() {
  if (git(root, 'status', '--porcelain') !== '') throw new Error('commit what is changed first')
  git(root, 'switch', '--quiet', '--force-create', BRANCH)
  /** @type {import('node:child_process').ExecFileSyncOptions} */
  const here = { cwd: root, stdio: 'inherit' }
  if (!existsSync(join(root, 'tools/node_modules'))) {
    const [pnpm = 'pnpm', ...before] = pnpmCommand()
    execFileSync(pnpm, [...before, 'install', '--frozen-lockfile'], here)
  }
  execFileSync(process.execPath, ['tools/node_modules/@changesets/cli/bin.js', 'version'], here)
  const { version } = manifestIn(join(root, 'packages/core'))
  git(root, 'add', '--all')
  const identity = ['-c', `user.name=${AUTHOR}`, '-c', `user.email=${EMAIL}`]
  git(root, ...identity, 'commit', '--quiet', '--message', `release: ${version}`)
  console.log(`${BRANCH} has ${version}, of ${pending.length} changesets`)
}
