// Reads the jobs of the workflows of .github, each once for every combination of its matrix.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const FOLDER = '.github/workflows'

/**
 * @typedef {object} Step
 * @property {string} [uses]
 * @property {string} [run]
 * @property {string} [name]
 * @property {Record<string, unknown>} [with]
 * @property {Record<string, string>} [env]
 */

/**
 * @typedef {object} Job a job, with the values of its matrix in place
 * @property {string} id such as `ci/test (20, test)`
 * @property {string} runsOn
 * @property {readonly Step[]} steps
 * @property {any} source as it is in the file
 */

/**
 * @param {string} root
 * @returns {{ file: string, text: string, workflow: any }[]} `file` is a path from the root
 */
export function workflowsIn(root) {
  const files = readdirSync(join(root, FOLDER)).filter((file) => /\.ya?ml$/.test(file))
  return files.map((name) => {
    const file = `${FOLDER}/${name}`
    const text = readFileSync(join(root, file), 'utf8')
    return { file, text, workflow: parse(text) }
  })
}

/**
 * @param {string} file
 * @param {any} workflow
 * @returns {Job[]}
 */
export function jobsOf(file, workflow) {
  const name = file.replace(/^.*\/|\.ya?ml$/g, '')
  return Object.entries(workflow.jobs).flatMap(([id, source]) => {
    return combinations(source.strategy?.matrix ?? {}).map((matrix) => {
      const values = Object.values(matrix)
      const steps = source.steps.map((/** @type {Step} */ step) => withValues(step, matrix))
      return {
        id: `${name}/${id}${values.length > 0 ? ` (${values.join(', ')})` : ''}`,
        runsOn: source['runs-on'],
        steps,
        source,
      }
    })
  })
}

/**
 * @param {Record<string, readonly unknown[]>} matrix
 * @returns {Record<string, unknown>[]}
 */
function combinations(matrix) {
  /** @type {Record<string, unknown>[]} */
  let all = [{}]
  for (const [name, values] of Object.entries(matrix)) {
    if (!Array.isArray(values))
      throw new Error(`a matrix with ${name} that is no list is not known`)
    all = all.flatMap((one) => values.map((value) => ({ ...one, [name]: value })))
  }
  return all
}

/**
 * @param {Step} step
 * @param {Record<string, unknown>} matrix
 * @returns {Step}
 */
function withValues(step, matrix) {
  const text = JSON.stringify(step).replace(/"\$\{\{ matrix\.(\w+) \}\}"/g, (_, name) => {
    return JSON.stringify(matrix[name])
  })
  return JSON.parse(text.replace(/\$\{\{ matrix\.(\w+) \}\}/g, (_, name) => String(matrix[name])))
}
