// Reads .changeset/*.md as a release would, and prints the resulting versions. Fails if a changeset
// does not parse, names a package that is not published, is empty, or announces new counters of an
// unknown algorithm.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import releasePlan from '@changesets/get-release-plan'
import { newCountersIn } from '../scripts/new-counters.mjs'
import { publishedPackages } from '../tools/release/packages.mjs'

// A CommonJS module that has its own default export.
const getReleasePlan = releasePlan.default ?? releasePlan

const root = fileURLToPath(new URL('..', import.meta.url))
const published = publishedPackages(root).map(({ manifest }) => manifest.name)

try {
  const { changesets, releases } = await getReleasePlan(root)
  for (const { id, summary, releases: named } of changesets) {
    if (summary.trim() === '') throw new Error(`.changeset/${id}.md does not say what changes`)
    const other = named.find(({ name }) => !published.includes(name))
    if (other) throw new Error(`.changeset/${id}.md names ${other.name}, which is not published`)
    const unknown = newCountersIn(summary).find((name) => !isAlgorithm(name))
    if (unknown) throw new Error(`.changeset/${id}.md names ${unknown}, which is no algorithm`)
  }
  const next = releases
    .filter(({ type }) => type !== 'none')
    .map((each) => `${each.name} ${each.newVersion}`)
  console.log(`changesets: ${changesets.length}; next: ${next.join(', ') || 'nothing'}`)
} catch (error) {
  console.error(`changesets: ${error.message}`)
  process.exitCode = 1
}

function isAlgorithm(name) {
  return existsSync(join(root, 'packages/core/src/algorithms', name, 'kernel.lua'))
}
