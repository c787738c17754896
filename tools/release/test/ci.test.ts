// `.ci/run` runs steps by name, shows the log of one that fails, and counts tests.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ALL, CHANGE, stepOf } from '../../../scripts/ci/steps.mjs'
import { addTotals, failuresIn, noTotals, warningsIn } from '../../../scripts/ci/vitest-output.mjs'
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

test('a step may be a part of a whole', () => {
  expect(stepOf('mutation:3/24').commands.at(-1)).toMatchObject({
    run: ['node', 'tools/stryker/run.mjs', '--shard', '3/24'],
  })
  expect(() => stepOf('lint:3')).toThrow('there is no step "lint:3"')
})

describe('the output of vitest', () => {
  const ESCAPE = String.fromCharCode(27)

  test('is counted over all runs', () => {
    const totals = noTotals()
    addTotals(totals, `${ESCAPE}[2m      Tests ${ESCAPE}[22m 2 failed | 14 passed (16)\n`)
    addTotals(totals, '      Tests  3 passed | 1 skipped (4)\nTests of nothing: 9 passed\n')
    expect(totals).toEqual({ passed: 17, failed: 2, skipped: 1 })
  })

  test('is shown again where a test failed', () => {
    const after = Array.from({ length: 30 }, (_, i) => `line ${i}`)
    const shown = failuresIn(['before', ' FAIL  a.test.ts > a', ...after].join('\n')).split('\n')
    expect(shown.slice(0, 3)).toEqual([' FAIL  a.test.ts > a', 'line 0', 'line 1'])
    expect(shown.at(-2)).toBe('line 14')
  })

  test.each([
    ['(node:12) Warning: much', 1],
    ['[ioredis] Unhandled error event', 1],
    ['stderr | a.test.ts', 1],
    ['a test about stderr', 0],
  ])('%s: %i warnings', (line, count) => {
    expect(warningsIn(`x\n${line}\n`).length).toBe(count)
  })
})
