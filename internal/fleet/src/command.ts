// The checked arguments of the command.

import { parseArgs } from 'node:util'
import { problemOf, type StoryOptions } from './fleet/choices.js'
import { SCENARIO_NAMES, scenarioOf, smallestOf } from './stories/scenarios.js'

export type Command = ReturnType<typeof commandOf>

/** The number of requests if neither requests nor minutes are given. */
const REQUESTS = 100_000

/** @throws {TypeError} if the arguments are wrong */
export function commandOf(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      scenario: { type: 'string' },
      options: { type: 'string', default: '{}' },
      requests: { type: 'string' },
      minutes: { type: 'string' },
      first: { type: 'string' },
      'until-broken': { type: 'boolean', default: false },
      each: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  })
  const numberOf = (name: 'seed' | 'requests' | 'minutes' | 'first'): number | undefined => {
    const text = values[name]
    if (text === undefined) return undefined
    const number = Number.parseFloat(text)
    if (name === 'seed' || name === 'first' ? number >= 0 : number > 0) return number
    throw new TypeError(`--${name} must be a number, not "${values[name]}"`)
  }
  const seed = numberOf('seed')
  const minutes = numberOf('minutes')
  /** Undefined: the seed decides. */
  const scenario = SCENARIO_NAMES.find((each) => each === values.scenario)
  if (scenario !== values.scenario)
    throw new TypeError(`--scenario must be one of: ${SCENARIO_NAMES.join('; ')}`)
  const options: Partial<StoryOptions> = JSON.parse(values.options)
  const problem = problemOf(options, smallestOf(scenario ?? scenarioOf(seed ?? 0)))
  if (problem !== undefined) throw new TypeError(`--options: ${problem}`)
  return {
    ...values,
    seed,
    scenario,
    options,
    requests: numberOf('requests') ?? (minutes === undefined ? REQUESTS : Infinity),
    minutes: minutes ?? Infinity,
    first: numberOf('first') ?? 1,
  }
}
