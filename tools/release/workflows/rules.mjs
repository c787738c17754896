// The rules for every workflow of this repository, in addition to those of actionlint.
import { stepOf } from '../../../scripts/ci/steps.mjs'
import { jobsOf } from './read.mjs'

const PINNED = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/

/** The only permissions beyond reading, by job. */
export const WRITES = [
  'codeql/analyze: security-events',
  'publish/stage: id-token',
  'publish/assets: contents',
  'scorecard/analyze: id-token',
  'scorecard/analyze: security-events',
]

/**
 * @param {string} file
 * @param {string} text
 * @param {any} workflow
 * @returns {string[]} what is wrong
 */
export function brokenRules(file, text, workflow) {
  const used = [...text.matchAll(/^\s*(?:- )?uses: (.*)$/gm)].map(([, action = '']) => action)
  const jobs = jobsOf(file, workflow)
  return [
    ...used
      .filter((action) => !PINNED.test(action))
      .map((action) => `${action}: pin it as OWNER/NAME@COMMIT # vX.Y.Z`),
    ...(Object.keys(workflow.permissions ?? { all: '' }).length > 0
      ? ['permissions: {} at the top, and what a job needs in the job']
      : []),
    ...['pull_request_target', 'workflow_run']
      .filter((event) => JSON.stringify(workflow.on).includes(`"${event}"`))
      .map((event) => `${event} runs what others wrote, with rights`),
    ...(/\bsecrets\b/.test(text) ? ['secrets are not used: a job has github.token'] : []),
    ...jobs.flatMap(({ id, source }) => rightsBeyond(id.replace(/ .*/, ''), source.permissions)),
    ...jobs.flatMap(installsWithRights),
    ...Object.entries(workflow.jobs).flatMap(([id, { permissions, 'timeout-minutes': limit }]) => [
      ...(permissions === undefined ? [`job ${id} has no permissions of its own`] : []),
      ...(limit === undefined ? [`job ${id} has no timeout-minutes`] : []),
    ]),
    ...jobs.flatMap(({ id, steps }) => steps.flatMap((step) => brokenIn(id, step))),
  ].map((what) => `${file}: ${what}`)
}

/**
 * @param {string} job such as `publish/stage`
 * @param {unknown} permissions
 * @returns {string[]}
 */
function rightsBeyond(job, permissions = {}) {
  if (permissions === null || typeof permissions !== 'object')
    return [`job ${job} has "${permissions}": name each right`]
  return Object.entries(permissions)
    .filter(
      ([name, right]) => !['read', 'none'].includes(right) && !WRITES.includes(`${job}: ${name}`),
    )
    .map(
      ([name, right]) => `job ${job} has ${name}: ${right}, which is none of WRITES in rules.mjs`,
    )
}

/**
 * A job that has more than read access, or gets a token, must not install third-party code, since
 * any code that runs beside a token can read it.
 * @param {import('./read.mjs').Job} job
 * @returns {string[]}
 */
function installsWithRights({ id, steps, source }) {
  const rights = Object.values(source.permissions ?? {})
  const hasToken = JSON.stringify(source).includes('github.token')
  if (!hasToken && !rights.includes('write')) return []
  return steps
    .flatMap(({ run }) => /^bash \.ci\/run (.*)$/.exec(run ?? '')?.[1]?.split(' ') ?? [])
    .filter((name) => serviceOf(name) === undefined)
    .map(
      (name) => `${id} has rights or a token, and step "${name}" installs: run it in another job`,
    )
}

/** @param {string} name */
function serviceOf(name) {
  try {
    return stepOf(name).service
  } catch {
    return 'a step that is not there, which is said elsewhere'
  }
}

/**
 * @param {string} id
 * @param {import('./read.mjs').Step} step
 * @returns {string[]}
 */
function brokenIn(id, step) {
  if (step.uses?.startsWith('actions/checkout@') && step.with?.['persist-credentials'] !== false)
    return [`${id}: actions/checkout leaves its token in the clone: persist-credentials: false`]
  if (step.run === undefined) return []
  const [, names] = /^bash \.ci\/run ([\w:/ -]+)$/.exec(step.run) ?? []
  if (names === undefined)
    return [`${id}: "${step.run}" is no step of .ci/run: add one to scripts/ci/steps.mjs`]
  return names.split(' ').flatMap((name) => {
    try {
      stepOf(name)
      return []
    } catch (error) {
      return [`${id}: ${/** @type {Error} */ (error).message}`]
    }
  })
}
