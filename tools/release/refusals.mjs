// The reasons why a release is refused, each with what to do about it. Needs no build.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { namedSince, pendingChangesets } from './changesets.mjs'
import { git, gitLines } from './git.mjs'
import { manifestIn, publishedPackages } from './packages.mjs'
import { changedStateForms } from './state-forms.mjs'
import { RIGHT, whereItLives } from './where.mjs'

/** The packages share one version, which is in this file. */
const VERSIONED = 'packages/core/package.json'
const SHOWN = 5

/**
 * @param {string} root of the repository
 * @param {{ forPublishing: boolean, onto: string | undefined }} options
 *   `forPublishing` adds the checks that only a published release needs; `onto` is the branch that
 * a pull request is for, and limits the checks to what the pull request changes
 * @returns {string[]}
 */
export function refusals(root, { forPublishing, onto }) {
  if (git(root, 'rev-parse', '--is-shallow-repository') === 'true')
    return ['this clone has no history to compare with: git fetch --unshallow --tags']
  const bases = [...lastRelease(root), ...(onto === undefined ? [] : [mergeBase(root, onto)])]
  const reasons = [
    ...uncommitted(root),
    ...withoutChangeset(root, bases),
    ...bases.flatMap((base) => withoutNewId(root, base)),
    ...withoutChangelog(root),
    ...whereabouts(root, forPublishing),
    ...(forPublishing ? unpublishable(root) : []),
  ]
  return [...new Set(reasons)]
}

/**
 * The commits to compare with: the tag of the previous release, if there is one, and the commit
 * that raised the version, which may not be tagged yet.
 * @param {string} root
 * @returns {string[]}
 */
function lastRelease(root) {
  const tags = ['--merged', 'HEAD^', '--list', 'v[0-9]*']
  const line = `"version": "${manifestIn(join(root, 'packages/core')).version}"`
  const raised = git(root, 'log', '-1', '--format=%H', `-S${line}`, '--', VERSIONED)
  const describe = ['describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^']
  const tag = gitLines(root, 'tag', ...tags).length === 0 ? [] : [git(root, ...describe)]
  const isTagged = raised === '' || gitLines(root, 'tag', '--contains', raised, ...tags).length > 0
  return isTagged ? tag : [...tag, raised]
}

/**
 * @param {string} root
 * @param {string} branch
 */
function mergeBase(root, branch) {
  return git(root, 'merge-base', 'HEAD', branch)
}

/** @param {string} root */
function uncommitted(root) {
  const files = gitLines(root, 'status', '--porcelain').map((line) => line.slice(3))
  if (files.length === 0) return []
  const shown = files.slice(0, SHOWN).join(', ')
  const more = files.length > SHOWN ? ` and ${files.length - SHOWN} more` : ''
  return [`files are not committed: commit them, or put them away: ${shown}${more}`]
}

/**
 * Names each package once, with the first base since which it has changed.
 * @param {string} root
 * @param {readonly string[]} bases
 */
function withoutChangeset(root, bases) {
  const unnamed = new Map(bases.toReversed().flatMap((base) => unnamedSince(root, base)))
  return [...unnamed].map(([folder, { name, base }]) => {
    return `public types of ${name} have changed since ${base}, and no changeset says so: look at "git diff ${base} -- packages/${folder}/api", and write one: npx pnpm@12 changeset`
  })
}

/**
 * @param {string} root
 * @param {string} base
 * @returns {[folder: string, { name: string, base: string }][]}
 */
function unnamedSince(root, base) {
  const reports = gitLines(root, 'diff', '--name-only', base, 'HEAD', '--', 'packages/*/api/*')
  const named = namedSince(root, base, VERSIONED)
  return [...new Set(reports.map((path) => path.split('/')[1] ?? ''))].flatMap((folder) => {
    const name = packageIn(root, folder)
    if (name === undefined || named.has(name)) return []
    return [[folder, { name, base: nameOf(root, base) }]]
  })
}

/**
 * @param {string} root
 * @param {string} folder
 */
function packageIn(root, folder) {
  const pack = publishedPackages(root).find((each) => each.folder === `packages/${folder}`)
  return pack?.manifest.name
}

/**
 * @param {string} root
 * @param {string} base
 */
function withoutNewId(root, base) {
  return changedStateForms(root, base).map((label) => {
    return `what kernel ${label.split(' ')[0]} stores (${label.split(' ').slice(1).join(' ')}) has changed since ${nameOf(root, base)}: give the kernel a new id, which is part of its keys, and record what it stores (packages/core/test/redis/stored-state.test.ts)`
  })
}

/** @param {string} root */
function withoutChangelog(root) {
  // The pending changesets will write it.
  if (pendingChangesets(root).length > 0) return []
  return publishedPackages(root)
    .filter(({ folder, manifest }) => {
      const file = join(root, folder, 'CHANGELOG.md')
      if (!existsSync(file)) return true
      return !readFileSync(file, 'utf8').includes(`\n## ${manifest.version}\n`)
    })
    .map(({ folder, manifest }) => {
      return `${folder}/CHANGELOG.md has no section "## ${manifest.version}": write what has changed, or let npx pnpm@12 changeset version do so`
    })
}

/**
 * @param {string} root
 * @param {boolean} forPublishing
 */
function whereabouts(root, forPublishing) {
  try {
    const url = whereItLives(manifestIn(root))
    if (url !== undefined || !forPublishing) return []
    return [
      `nobody has said where the project lives, so links in the packages would lead nowhere and provenance could not be shown: write ${RIGHT}`,
    ]
  } catch (error) {
    return [/** @type {Error} */ (error).message]
  }
}

/** @param {string} root */
function unpublishable(root) {
  const pending = pendingChangesets(root)
  const { version } = manifestIn(join(root, 'packages/core'))
  const { GITHUB_REF_NAME: name, GITHUB_REF_TYPE: type } = process.env
  const tagged = gitLines(root, 'tag', '--points-at', 'HEAD').includes(`v${version}`)
  return [
    ...(pending.length > 0
      ? [`${pending.length} changesets are pending: merge the version pull request first`]
      : []),
    ...(tagged
      ? []
      : [`links lead to the tag v${version}, which is not this commit: git tag v${version}`]),
    ...(type === 'tag' && name !== `v${version}`
      ? [`the tag ${name} is not that of the version, v${version}: delete it, and push that one`]
      : []),
    ...(isOnMain(root)
      ? []
      : [
          'this commit is not on origin/main, where changes are checked: merge it, and tag it there',
        ]),
  ]
}

/**
 * Without origin/main, as in a clone of a clone, nothing is published by a workflow either.
 * @param {string} root
 */
function isOnMain(root) {
  const found = gitLines(root, 'branch', '--remotes', '--list', 'origin/main')
  if (found.length === 0) return process.env.GITHUB_ACTIONS !== 'true'
  return (
    gitLines(root, 'branch', '--remotes', '--contains', 'HEAD', '--list', 'origin/main').length > 0
  )
}

/**
 * A tag by its name, a commit by the beginning of its hash.
 * @param {string} root
 * @param {string} base
 */
function nameOf(root, base) {
  return base.startsWith('v') ? base : git(root, 'rev-parse', '--short', base)
}
