// The plan of a job's local run: which steps can be run, and why others cannot. Anything that this
// file does not know is an error, so that no step silently runs differently than on GitHub.
import { stepOf } from '../../../scripts/ci/steps.mjs'

const KNOWN = {
  job: [
    'name',
    'needs',
    'runs-on',
    'timeout-minutes',
    'permissions',
    'strategy',
    'environment',
    'steps',
  ],
  step: ['uses', 'run', 'name', 'with', 'env'],
}

/**
 * @typedef {object} Planned
 * @property {'checkout' | 'node' | 'run' | 'not run'} kind
 * @property {string} what the command, or why it is not run
 * @property {string} version of Node, in a step that sets it up
 * @property {Record<string, string>} env
 */

/**
 * @param {import('./read.mjs').Job} job
 * @param {string} platform of this machine, as Node calls it
 * @returns {Planned[]}
 */
export function planOf({ id, runsOn, steps, source }, platform) {
  checkKnown(id, source, KNOWN.job)
  const isHere = runsOn.startsWith(platform === 'darwin' ? 'macos' : 'ubuntu')
  return steps.map((step) => {
    checkKnown(id, step, KNOWN.step)
    const { uses, run, env = {} } = step
    const planned = { what: '', version: '', env }
    if (uses !== undefined) {
      const [action] = uses.split('@')
      if (action === 'actions/checkout') return { ...planned, kind: 'checkout' }
      if (action === 'actions/setup-node')
        return { ...planned, kind: 'node', version: String(step.with?.['node-version']) }
      return { ...planned, kind: 'not run', what: `${action}: GitHub alone runs this action` }
    }
    const command = run ?? ''
    if (command.includes('${{')) throw new Error(`${id}: "${command}" has an unknown expression`)
    const why = isHere ? serviceOf(command) : `a machine with ${runsOn}`
    if (why !== undefined)
      return { ...planned, kind: 'not run', what: `${command}: it needs ${why}` }
    return { ...planned, kind: 'run', what: command }
  })
}

/**
 * @param {string} command
 * @returns {string | undefined} the service that a step of CI needs
 */
function serviceOf(command) {
  const [, names = ''] = /^bash \.ci\/run (.*)$/.exec(command) ?? []
  const services = names.split(' ').map((name) => (name === '' ? undefined : stepOf(name).service))
  return services.find((service) => service !== undefined)
}

/**
 * @param {string} id
 * @param {object} given
 * @param {readonly string[]} known
 */
function checkKnown(id, given, known) {
  const other = Object.keys(given).find((name) => !known.includes(name))
  if (other !== undefined)
    throw new Error(`${id}: "${other}" is not known to this script; add it to plan.mjs`)
}
