// The present version continues from what the last release has written, and the other way round.
// `pnpm versions` takes more rounds.

import { seedOf } from '@weir/testkit'
import { expect, test } from 'vitest'
import { checksOf } from '../../src/versions/checks/all.js'
import { BRIEF, checkConformance } from '../../src/versions/checks/conformance.js'
import { isKnown } from '../../src/versions/differences.js'
import { lastRelease, releaseAt } from '../../src/versions/release.js'
import { versionIn } from '../../src/versions/version.js'
import { benchOf } from './versions.js'

const SEED = seedOf(1)

const release = lastRelease()
if (release === undefined && process.env.GITHUB_ACTIONS !== undefined)
  throw new Error('the last release is not in this clone: check out all history and tags')

// A clone without history has nothing to compare with.
if (release !== undefined) {
  const { commit, version } = release
  const bench = benchOf(await versionIn(releaseAt(commit), version))
  const checks = checksOf(bench, SEED)
  // By chance, the versions may not take turns where it matters.
  for (const seed of [SEED + 1, SEED + 2, SEED + 3])
    checks.push([`conformance in brief, seed ${seed}`, () => checkConformance(bench, seed, BRIEF)])
  for (const [name, run] of checks) {
    test(`${version} and the present on one Redis, seed ${SEED}: ${name}`, async () => {
      const { problems } = await run()
      expect(problems.filter((problem) => !isKnown(commit, problem))).toEqual([])
    })
  }
} else test.skip('the last release and the present on one Redis: not in this clone')
