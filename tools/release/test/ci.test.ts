// `.ci/run` runs steps by name, shows the log of one that fails, and counts tests.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ALL, CHANGE } from '../../../scripts/ci/steps.mjs'
import { stepNames } from '../../../scripts/projects.mjs'
import { root } from './root.js'

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  // As on a machine that has no tag to release.
  const { GITHUB_REF_NAME: _, ...env } = process.env
  return spawnSync('bash', [join(root, '.ci/run'), ...args], { encoding: 'utf8', env })
}

test('the list of steps begins with those that must hold for a change', () => {
  const names = run('--list').stdout.trim().split('\n')
  expect(names).toEqual(ALL)
  expect(names.slice(0, CHANGE.length)).toEqual(CHANGE)
})

test('an unknown step is refused before any step runs, and the known ones are named', () => {
  const { status, stdout, stderr } = run('lint', 'nope')
  expect(status).toBe(1)
  expect(stderr).toBe(`there is no step "nope"; there are ${ALL.join(', ')}\n`)
  expect(stdout).toBe('tests: 0 passed, 0 failed, 0 skipped\n')
})

test('each project of tests is run by a step', async () => {
  const names = await stepNames()
  expect(names).toContain('packages')
  expect(names.filter((name) => !ALL.includes(name))).toEqual([])
})

test('a step that fails is shown with its log and its command, and fails the run', () => {
  const { status, stdout, stderr } = run('release-assets')
  expect(status).toBe(1)
  expect(stderr).toContain('GITHUB_REF_NAME names no tag')
  expect(stderr).toMatch(/sh -c test .*: exit code 2/)
  expect(stdout).toContain('FAILED: Release: its page')
  expect(stdout).not.toContain('All passed')
})
