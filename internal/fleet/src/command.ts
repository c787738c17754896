// The checked arguments of the command.

import { parseArgs } from 'node:util'
import { problemOf, type StoryOptions } from './fleet/choices.js'
import { SCENARIO_NAMES, type ScenarioName, scenarioOf, smallestOf } from './stories/scenarios.js'

export interface Command {
  /** Writes the tables of the documents, and simulates no story. */
  readonly write: boolean
  /** The seed of the only story. */
  readonly seed: number | undefined
  /** By default, the seed decides. */
  readonly scenario: ScenarioName | undefined
  /** Options that replace those of the seed. */
  readonly options: Partial<StoryOptions>
  readonly requests: number
  readonly minutes: number
  readonly first: number
  readonly untilBroken: boolean
  /** Prints how each story ended, on one line. */
  readonly each: boolean
}

/** The number of requests if neither requests nor minutes are given. */
const REQUESTS = 100_000

/** @throws {TypeError} if the arguments are wrong; its message says what is right */
export function commandOf(args: readonly string[]): Command {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      scenario: { type: 'string' },
      options: { type: 'string' },
      requests: { type: 'string' },
      minutes: { type: 'string' },
      first: { type: 'string' },
      'until-broken': { type: 'boolean', default: false },
      each: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  })
  const seed = wholeIn(values.seed, '--seed', 0)
  const scenario = scenarioIn(values.scenario)
  const minutes = minutesIn(values.minutes)
  const requests = wholeIn(values.requests, '--requests', 1)
  return {
    write: values.write,
    seed,
    scenario,
    options: optionsIn(
      values.options,
      scenario ?? (seed === undefined ? undefined : scenarioOf(seed)),
    ),
    requests: requests ?? (minutes === undefined ? REQUESTS : Infinity),
    minutes: minutes ?? Infinity,
    first: wholeIn(values.first, '--first', 0) ?? 1,
    untilBroken: values['until-broken'],
    each: values.each,
  }
}

function wholeIn(text: string | undefined, name: string, least: number): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= least && Number.isSafeInteger(number)) return number
  throw new TypeError(`${name} must be a whole number from ${least}, not "${text}"`)
}

function minutesIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const minutes = Number(text)
  if (/^[\d.]+$/.test(text) && minutes > 0) return minutes
  throw new TypeError(`--minutes must be a number above 0, such as 10 or 0.5, not "${text}"`)
}

function scenarioIn(text: string | undefined): ScenarioName | undefined {
  if (text === undefined) return undefined
  const name = SCENARIO_NAMES.find((each) => each === text)
  if (name !== undefined) return name
  const names = SCENARIO_NAMES.map((each) => `"${each}"`).join(', ')
  throw new TypeError(`--scenario must be one of ${names}, not "${text}"`)
}

function optionsIn(
  text: string | undefined,
  scenario: ScenarioName | undefined,
): Partial<StoryOptions> {
  if (text === undefined) return {}
  if (scenario === undefined) throw new TypeError('--options needs --seed or --scenario')
  const options = objectIn(text)
  const problem = problemOf(options, smallestOf(scenario))
  if (problem !== undefined) throw new TypeError(`--options: ${problem}`)
  return options
}

function objectIn(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // The error below reports it.
  }
  throw new TypeError(`--options must be an object in JSON, such as {"processes":2}, not ${text}`)
}
