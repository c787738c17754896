// The comparison detects changes: the present version beside a copy with one thing changed.

import { expect, test } from 'vitest'
import { CHANGES, changedVersion, NEW_ID } from '../../src/versions/changed.js'
import { checkKernels } from '../../src/versions/checks/kernels.js'
import { checkNames } from '../../src/versions/checks/names.js'
import { checkWalks } from '../../src/versions/checks/walks.js'
import { benchOf } from './versions.js'

const STEPS = 2_500

test(`an unchanged copy decides and writes the same in ${STEPS} steps`, async () => {
  const bench = benchOf(await changedVersion([]))
  expect((await checkNames(bench)).problems).toEqual([])
  expect((await checkWalks(bench, { steps: STEPS, seed: 1 })).problems).toEqual([])
  expect(checkKernels(bench, []).problems).toEqual([])
})

test.each(Object.entries(CHANGES))(`%s is detected within ${STEPS} steps`, async (_, changes) => {
  const bench = benchOf(await changedVersion(changes))
  const { problems } = await checkWalks(bench, { steps: STEPS, seed: 1, most: 1 })
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(/^seed \d+, .*\n(.+\n)* {4}earlier: .*\n {4}present: ./)
})

test('keys with another ending are named', async () => {
  const bench = benchOf(await changedVersion(CHANGES['keys that end in another way'] ?? []))
  const { problems } = await checkNames(bench)
  expect(problems.length).toBeGreaterThan(100)
  expect(problems[0]).toMatch(/^was: .*:log1~1m.*\n {2}is: .*:log1-1m/)
})

test('a new id of a kernel is refused unless a changeset says that counts start again', async () => {
  const bench = benchOf(await changedVersion(NEW_ID))
  expect(checkKernels(bench, []).problems).toEqual([
    'the kernel bucket2 is now bucket1: say "New counters: bucket." in a changeset',
  ])
  expect(checkKernels(bench, ['bucket']).problems).toEqual([])
  // The counts of the others continue.
  const { did, problems } = await checkWalks(bench, { steps: STEPS, seed: 1 })
  expect(problems).toEqual([])
  expect(did).toContain('granted')
})

test('a changeset that announces new counters without a new id of the kernel is refused', async () => {
  const bench = benchOf(await changedVersion([]))
  expect(checkKernels(bench, ['sliding-log']).problems).toEqual([
    'a changeset says "New counters: sliding-log.", and the kernel is log1 as before: give it a new id',
  ])
})
