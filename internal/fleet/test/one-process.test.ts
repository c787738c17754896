// One process through its outages, step by step, against a model of what it must do: random
// requests, faults and waits, with windows that end during the walk. scenarios.test.ts has many
// processes, and windows that do not end.

import { isWeekly, seedOf, stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { EXPECTED, Run } from './one-process/run.js'
import { type Step, someSteps } from './one-process/steps.js'
import { SUBJECTS, type Subject } from './one-process/usage.js'

const TIMEOUT_MS = isWeekly ? 3_600_000 : 120_000

function walksOf(subject: Subject, runs: number): { numRuns: number; seed: number } {
  return { numRuns: stepsOf(runs, 30_000), seed: seedOf(SUBJECTS.indexOf(subject)) }
}

/** Enough for a new connection, the wait for a probe, the return, and some calls. */
const RECOVERY_MS = 12_000
/** The longest time that docs/resilience.md promises. */
const CLOSING_MS = 1_000

beforeEach(() => {
  // Outages of ten seconds cause warnings.
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})

async function take(run: Run, step: Step): Promise<void> {
  const { line } = run
  if (step.do === 'wait') await run.pass(step.ms)
  else if (step.do === 'fault') line.set(step.fault)
  else if (step.do === 'reset') run.reset(step.key)
  else {
    for (const request of step.requests) {
      run.ask(request)
      if (step.at === 'one by one') await run.settle()
    }
  }
  await run.settle()
  run.compare()
  expect(run.faults).toEqual([])
}

type Ending = 'in peace' | 'in the middle'

async function outage(
  subject: Subject,
  steps: readonly Step[],
  ending: Ending,
  seed: number,
  seen: Set<string>,
): Promise<void> {
  const run = new Run(subject, seed, seen)
  await run.begin()
  for (const step of steps) await take(run, step)
  if (ending === 'in peace') {
    run.line.set('none')
    await run.pass(RECOVERY_MS)
    await run.recovered()
  }
  void run.close()
  run.line.set('none')
  await run.pass(CLOSING_MS)
  expect(run.faults).toEqual([])
  const { pending, line, timers } = run
  expect({ pending, calls: line.pending, timers }).toEqual({ pending: 0, calls: 0, timers: 0 })
}

/** What happened in the walks of all algorithms. */
const seen = new Set<string>()

describe.each(SUBJECTS)('an outage, with a $policy.algorithm', (subject) => {
  test('is bridged within the bound, and settled', { timeout: TIMEOUT_MS }, async () => {
    const ending = fc.oneof(
      { weight: 9, arbitrary: fc.constant('in peace' as const) },
      { weight: 1, arbitrary: fc.constant('in the middle' as const) },
    )
    await fc.assert(
      fc.asyncProperty(someSteps, ending, fc.nat(), (steps, end, seed) =>
        outage(subject, steps, end, seed, seen),
      ),
      walksOf(subject, 120),
    )
  })
})

test('the walks reach whatever may happen in an outage', () => {
  expect(EXPECTED.filter((each) => !seen.has(each))).toEqual([])
})
