// The workflows run the steps of CI, and no job with rights runs what it installs. That actions are
// pinned, and that no workflow runs the code of others, OpenSSF Scorecard checks (scorecard.yml).

import { expect, test } from 'vitest'
import { CHANGE, stepOf } from '../../../scripts/ci/steps.mjs'
import { jobsOf, workflowsIn } from '../workflows/read.mjs'
import { root } from './root.js'

const jobs = workflowsIn(root).flatMap(({ file, workflow }) => jobsOf(file, workflow))
const commandsOf = ({ steps }: (typeof jobs)[number]) => steps.flatMap(({ run }) => run ?? [])
const commands = jobs.flatMap(commandsOf)
/** The steps of .ci/run in a command. */
const stepsIn = (command: string) => {
  const [, names = ''] = /^bash \.ci\/run (.+)$/.exec(command) ?? []
  return names.split(' ').map(stepOf)
}

/** The only permissions beyond reading, by job. */
const WRITES = [
  'codeql/analyze: security-events',
  'publish/stage: id-token',
  'publish/assets: contents',
  'scorecard/analyze: id-token',
  'scorecard/analyze: security-events',
]

test('each command is a step of .ci/run, and all that must hold for a change are run', () => {
  for (const command of commands) expect(() => stepsIn(command)).not.toThrow()
  expect(CHANGE.filter((step) => !commands.includes(`bash .ci/run ${step}`))).toEqual([])
})

test('a whole mutation run is run, part by part', () => {
  const parts = commands.flatMap((command) => /mutation:(\d+)\/24$/.exec(command)?.[1] ?? [])
  expect(parts.map(Number)).toEqual(Array.from({ length: 24 }, (_, i) => i + 1))
})

test('jobs have write access or an identity only where it is needed', () => {
  const rights = jobs.flatMap(({ id, source }) =>
    Object.entries(source.permissions)
      .filter(([, right]) => right !== 'read')
      .map(([name]) => `${id.replace(/ .*/, '')}: ${name}`),
  )
  expect([...new Set(rights)]).toEqual(WRITES)
})

test('a job with such rights, or a token, installs nothing, since all code can read a token', () => {
  const mayDoMore = jobs.filter(({ source }) => {
    const rights = Object.values(source.permissions)
    return rights.includes('write') || JSON.stringify(source).includes('github.token')
  })
  const steps = mayDoMore.flatMap(commandsOf).flatMap(stepsIn)
  expect(steps.filter(({ service }) => service === undefined)).toEqual([])
  const checkouts = jobs.flatMap(({ steps }) =>
    steps.filter(({ uses }) => uses?.startsWith('actions/checkout@')),
  )
  expect(checkouts.length).toBeGreaterThan(0)
  for (const checkout of checkouts) expect(checkout.with?.['persist-credentials']).toBe(false)
})
