// The report of a story that breaks a promise: its last lines, the command that runs it again, and
// a row for the table of found stories in test/scenarios.test.ts.

import type { Outcome } from './scenarios.js'

export function foundText(outcome: Outcome): string {
  return [
    ...outcome.untilBroken.map((line) => `    ${line}`),
    '  again:',
    `    ${commandText(outcome)}`,
    '  for FOUND in internal/fleet/test/scenarios.test.ts, once it is understood:',
    `    ${rowText(outcome)}`,
  ].join('\n')
}

function commandText({ seed, scenario, options }: Outcome): string {
  const given = `--seed ${seed} --scenario '${scenario}' --options '${JSON.stringify(options)}'`
  return `npm run fleet -- ${given}`
}

function rowText({ seed, scenario, options, broken }: Outcome): string {
  const fields = Object.entries(options).map(([name, value]) => `${name}: ${literal(value)}`)
  // Without the time at the start of the line.
  const promise = (broken[0] ?? '').replace(/^\S+ /, '')
  const story = `seed: ${seed}, scenario: ${literal(scenario)}, options: { ${fields.join(', ')} }`
  return `{ found: ${literal(promise)}, ${story} },`
}

function literal(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
