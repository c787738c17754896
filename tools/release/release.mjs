// Makes a release: packs, checks and tries the packages.
//
//   npm run release                      a dry run: everything but publishing
//   npm run release -- --for-publishing  adds the checks that only a published release needs
//   npm run release -- --built           does not build, since CI has
//
// Leaves the tarballs, their SHA-256 sums, their sizes and an SBOM in release/.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { judgeSize, sizeOf } from '../package-size.mjs'
import { brokenLinks } from './check-links.mjs'
import { gitLines } from './git.mjs'
import { packAll } from './pack.mjs'
import { manifestIn } from './packages.mjs'
import { billOfMaterials } from './sbom.mjs'
import { RIGHT, whereItLives } from './where.mjs'

const { values } = parseArgs({
  options: {
    'for-publishing': { type: 'boolean', default: false },
    built: { type: 'boolean', default: false },
  },
})
const root = process.cwd()
const { version } = manifestIn(join(root, 'packages/core'))
const reasons = values['for-publishing'] ? unpublishable() : []
if (reasons.length > 0) refuse(reasons)
else make()

/**
 * That the tag is on `main` and that checks have passed is what the rules of the repository say.
 * @returns {string[]} each with what to do about it
 */
function unpublishable() {
  const pending = readdirSync(join(root, '.changeset')).filter(
    (name) => name.endsWith('.md') && name !== 'README.md',
  )
  const isTagged = gitLines(root, 'tag', '--points-at', 'HEAD').includes(`v${version}`)
  return [
    ...(whereItLives(manifestIn(root)) === undefined
      ? [`nobody knows where the project lives: write ${RIGHT}`]
      : []),
    ...(pending.length > 0
      ? [`changesets are pending: make a version of them: ${pending.join(', ')}`]
      : []),
    ...(isTagged ? [] : [`this commit has no tag v${version}: release that of the version`]),
  ]
}

/** @param {readonly string[]} reasons */
function refuse(reasons) {
  for (const reason of reasons) console.error(`release refused: ${reason}`)
  process.exitCode = 1
}

function make() {
  if (!values.built)
    execFileSync(process.execPath, ['scripts/run.mjs', 'build'], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  const folder = join(root, 'release')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const packed = packAll(root, folder).map(({ manifest, tarball }) => {
    return { name: manifest.name, manifest, tarball }
  })
  const faults = [...packed.flatMap(linksThatLeadNowhere), ...wrongSizes(packed)]
  if (faults.length > 0) return refuse(faults)
  execFileSync(process.execPath, ['scripts/pack-smoke.mjs', folder], {
    cwd: root,
    stdio: 'inherit',
  })
  const sums = packed.map(({ tarball }) => `${sha256Of(tarball)}  ${basename(tarball)}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  writeFileSync(join(folder, 'sbom.cdx.json'), billOfMaterials(packed))
  console.log(`release: ${packed.length} tarballs of ${version} are in release/`)
}

/** @param {{ name: string, tarball: string }} pack */
function linksThatLeadNowhere({ name, tarball }) {
  const work = mkdtempSync(join(tmpdir(), 'weir-links-'))
  try {
    execFileSync('tar', ['-xzf', tarball, '-C', work])
    const broken = brokenLinks(join(work, 'package'), root, whereItLives(manifestIn(root)))
    return broken.map((link) => `a link of ${name} leads nowhere: mend it: ${link}`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/**
 * @param {readonly { name: string, tarball: string }[]} packed
 * @returns {string[]} the packages whose size differs from the recorded one
 */
function wrongSizes(packed) {
  const sizes = Object.fromEntries(packed.map(({ name, tarball }) => [name, sizeOf(tarball)]))
  writeFileSync(join(root, 'release/sizes.json'), `${JSON.stringify(sizes, null, 2)}\n`)
  return Object.entries(sizes).flatMap(([name, size]) => {
    try {
      console.log(judgeSize(name, size))
      return []
    } catch (error) {
      return [/** @type {Error} */ (error).message]
    }
  })
}

/** @param {string} file */
function sha256Of(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
