// Makes a release: checks that it may be made, and packs, checks and tries what is published.
//
//   npm run release                      a dry run: everything but publishing
//   npm run release -- --check           only whether it may be made; builds nothing
//   npm run release -- --for-publishing  also what only a published release needs
//   npm run release -- --write           writes the sizes into docs/approving.md
//
// Leaves five tarballs, their SHA-256 sums, their sizes and an SBOM in release/.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { brokenLinks } from './check-links.mjs'
import { packPackage } from './pack.mjs'
import { manifestIn, publishedPackages } from './packages.mjs'
import { refusals } from './refusals.mjs'
import { billOfMaterials } from './sbom.mjs'
import { sizeOf, withSizes, wrongSizes } from './sizes.mjs'
import { whereItLives } from './where.mjs'

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    'for-publishing': { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
const root = process.cwd()
const branch = process.env.GITHUB_BASE_REF || undefined
const reasons = refusals(root, {
  forPublishing: values['for-publishing'],
  onto: branch === undefined ? undefined : `origin/${branch}`,
})
if (values.write) make()
else if (reasons.length > 0) refuse(reasons)
else if (values.check) console.log('release: nothing is in its way')
else make()

/** @param {readonly string[]} reasons */
function refuse(reasons) {
  for (const reason of reasons) console.error(`release refused: ${reason}`)
  process.exitCode = 1
}

function make() {
  execFileSync(process.execPath, ['scripts/run.mjs', 'build', '--output-logs=errors-only'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const folder = join(root, 'release')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const packed = publishedPackages(root).map((pack) => {
    const { manifest } = pack
    return { name: manifest.name, manifest, tarball: packPackage(root, pack, folder) }
  })
  const faults = [...packed.flatMap(linksThatLeadNowhere), ...wrongPage(packed)]
  if (faults.length > 0) return refuse(faults)
  execFileSync(process.execPath, ['scripts/pack-smoke.mjs', folder], {
    cwd: root,
    stdio: 'inherit',
  })
  const sums = packed.map(({ tarball }) => `${sha256Of(tarball)}  ${basename(tarball)}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  writeFileSync(join(folder, 'sbom.cdx.json'), billOfMaterials(packed))
  const { version } = manifestIn(join(root, 'packages/core'))
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
 * Writes the sizes where that is asked for.
 * @param {readonly { name: string, tarball: string }[]} packed
 * @returns {string[]} why the page of sizes is wrong
 */
function wrongPage(packed) {
  const page = join(root, 'docs/approving.md')
  const text = readFileSync(page, 'utf8')
  const sizes = packed.map(({ name, tarball }) => sizeOf(name, tarball))
  writeFileSync(join(root, 'release/sizes.json'), `${JSON.stringify(sizes, null, 2)}\n`)
  for (const { name, packedBytes, unpackedBytes, files } of sizes)
    console.log(`${name}: ${packedBytes} bytes packed, ${unpackedBytes} unpacked, ${files} files`)
  if (values.write) writeFileSync(page, withSizes(text, sizes))
  if (values.write) return []
  return wrongSizes(text, sizes).map((name) => {
    return `docs/approving.md has another size of ${name}: npm run release -- --write`
  })
}

/** @param {string} file */
function sha256Of(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
