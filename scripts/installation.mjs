// What is installed, and what a command adds to it. `npm start` needs what its example imports,
// `npm test` what its tests import, and everything else all packages of the workspace.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './packages.mjs'
import { foldersOf } from './projects.mjs'

const LOCK = join(root, 'pnpm-lock.yaml')
/** The lock file of what is installed, which pnpm writes. */
const PRESENT = join(root, 'node_modules/.pnpm/lock.yaml')
const NOTES = join(root, 'node_modules/.weir/installed.json')

/**
 * @param {'start' | 'test' | 'all'} wanted
 * @returns {string[] | undefined} arguments for `pnpm install`; undefined if all is there
 */
export function installation(wanted) {
  const isWhole = existsSync(PRESENT) && read(PRESENT) === read(LOCK)
  const present = installed()
  if (isWhole || present.includes('all') || present.includes(wanted)) return undefined
  if (wanted === 'all' || present.includes('all')) return []
  // pnpm removes from the root what it is not asked to install there, so what is there is asked for
  // again.
  const all = new Set([...present, wanted])
  const example = ['--filter-prod', '@weir/example-express...']
  if (!all.has('test')) return ['--prod', ...example]
  const tested = foldersOf('test').flatMap((folder) => ['--filter', `./${folder}`])
  return all.has('start') ? [...tested, ...example] : tested
}

/** Notes that the installation has ended. */
export function remember(wanted) {
  const what = [...new Set([...installed(), wanted])]
  mkdirSync(dirname(NOTES), { recursive: true })
  writeFileSync(NOTES, JSON.stringify({ lock: hash(), what }))
}

function installed() {
  if (!existsSync(NOTES)) return []
  const { lock, what } = JSON.parse(read(NOTES))
  return lock === hash() ? what : []
}

function hash() {
  return createHash('sha256').update(read(LOCK)).digest('hex')
}

function read(file) {
  return readFileSync(file, 'utf8')
}
