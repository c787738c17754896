// Runs the steps of the workflows locally, one by one, as GitHub would: each job has a fresh clone
// and its Node version first in PATH, and each `run:` is a separate bash that stops at the first
// failure. Actions, and steps that need a service, are listed as not run.
//
//   node tools/release/workflows/run.mjs [--list] [--keep-going] [JOB...]
//
// JOB is the beginning of a job's name: `ci`, `ci/test`, `'ci/step (lint)'`.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { nodeBinary } from '../../../internal/testkit/servers/node.mjs'
import { planOf } from './plan.mjs'
import { jobsOf, workflowsIn } from './read.mjs'

const SHOWN_LINES = 60

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
})
const root = process.cwd()
const all = workflowsIn(root).flatMap(({ file, workflow }) => jobsOf(file, workflow))
const jobs = all.filter(({ id }) => {
  return positionals.length === 0 || positionals.some((name) => id.startsWith(name))
})
const counts = { ran: 0, failed: 0, 'not run': 0 }
if (jobs.length === 0)
  throw new Error(`no such job; there are ${all.map(({ id }) => id).join(', ')}`)
for (const job of jobs) {
  const passed = runJob(job)
  if (!passed && !values['keep-going']) break
}
const said = Object.entries(counts).map(([what, count]) => `${count} ${what}`)
console.log(`steps: ${said.join(', ')}`)
process.exitCode = counts.failed === 0 ? 0 : 1

/**
 * @param {import('./read.mjs').Job} job
 * @returns {boolean} whether all went well
 */
function runJob(job) {
  const plan = planOf(job, process.platform)
  const runs = !values.list && plan.some(({ kind }) => kind === 'run')
  const clone = runs ? mkdtempSync(join(tmpdir(), 'weir-workflow-')) : ''
  let path = process.env.PATH ?? ''
  try {
    for (const { kind, what, version, env } of plan) {
      if (kind === 'not run') tell('not run', job.id, what)
      else if (values.list && kind === 'run') console.log(`would run: ${job.id}: ${what}`)
      else if (!runs) continue
      else if (kind === 'checkout') execFileSync('git', ['clone', '--quiet', root, clone])
      else if (kind === 'node') path = `${dirname(newest(version))}${delimiter}${path}`
      else if (!ran(job.id, what, clone, { ...env, PATH: path })) return false
    }
    return true
  } finally {
    if (clone !== '') rmSync(clone, { recursive: true, force: true })
  }
}

/**
 * @param {string} id
 * @param {string} command
 * @param {string} cwd
 * @param {Record<string, string>} env
 */
function ran(id, command, cwd, env) {
  const begun = Date.now()
  const args = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', command]
  const { status, stdout, stderr } = spawnSync('bash', args, {
    cwd,
    env: { ...process.env, ...env, CI: 'true', GITHUB_ACTIONS: 'true' },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  const seconds = Math.round((Date.now() - begun) / 1_000)
  tell(status === 0 ? 'ran' : 'failed', id, `${command} (${seconds} s)`)
  if (status !== 0) console.log((stdout + stderr).split('\n').slice(-SHOWN_LINES).join('\n'))
  return status === 0
}

/**
 * @param {keyof typeof counts} outcome
 * @param {string} id
 * @param {string} what
 */
function tell(outcome, id, what) {
  counts[outcome] += 1
  console.log(`${outcome}: ${id}: ${what}`)
}

/** @param {string} major */
function newest(major) {
  const args = ['view', `node@${major}`, 'version', '--json']
  const versions = [JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }))].flat()
  // The registry lists them in the order of publication.
  const sorted = versions.sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
  return nodeBinary(sorted.at(-1))
}
