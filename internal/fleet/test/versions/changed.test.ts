// The comparison detects changes: the present version beside a copy with one thing changed.

import { expect, test } from 'vitest'
import { CHANGES, changedVersion, NEW_ID } from '../../src/versions/changed.js'
import { BRIEF, checkConformance } from '../../src/versions/checks/conformance.js'
import { checkKernels } from '../../src/versions/checks/kernels.js'
import { checkNames } from '../../src/versions/checks/names.js'
import { benchOf } from './versions.js'

test('an unchanged copy writes the same keys, and continues each trace', async () => {
  const bench = benchOf(await changedVersion([]))
  expect((await checkNames(bench)).problems).toEqual([])
  expect((await checkConformance(bench, 1, BRIEF)).problems).toEqual([])
  expect(checkKernels(bench, []).problems).toEqual([])
})

test.each(Object.entries(CHANGES))('%s is detected', async (_, changes) => {
  const bench = benchOf(await changedVersion(changes))
  // By chance, the versions may not take turns where it matters.
  let problems: readonly string[] = []
  for (let seed = 1; seed <= 8 && problems.length === 0; seed += 1)
    problems = (await checkConformance(bench, seed, BRIEF)).problems
  expect(problems).not.toEqual([])
})

test('a new id of a kernel is refused unless a changeset says that counts start again', async () => {
  const bench = benchOf(await changedVersion(NEW_ID))
  expect(checkKernels(bench, []).problems).toEqual([
    'the kernel bucket2 is now bucket1: say "New counters: bucket." in a changeset',
  ])
  expect(checkKernels(bench, ['bucket']).problems).toEqual([])
})
