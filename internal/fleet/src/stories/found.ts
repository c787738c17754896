// The report of a story that breaks a promise: its last lines, the command that runs it again, and
// a line for test/found-stories.jsonl.

import type { Outcome } from './scenarios.js'

export function foundText(outcome: Outcome): string {
  return [
    ...outcome.untilBroken.map((line) => `    ${line}`),
    '  again:',
    `    ${commandText(outcome)}`,
    '  for internal/fleet/test/found-stories.jsonl, once it is understood:',
    `    ${rowText(outcome)}`,
  ].join('\n')
}

function commandText({ seed, scenario, options }: Outcome): string {
  const given = `--seed ${seed} --scenario '${scenario}' --options '${JSON.stringify(options)}'`
  return `npm run fleet -- ${given}`
}

function rowText({ seed, scenario, options, broken }: Outcome): string {
  // Without the time at the start of the line.
  const found = (broken[0] ?? '').replace(/^\S+ /, '')
  return JSON.stringify({ why: '', found, seed, scenario, options })
}
