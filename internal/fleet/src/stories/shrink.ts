// Makes a story that breaks a promise smaller, as long as the smaller one breaks the same promise:
// fewer and shorter processes, keys, requests and faults. The result is easier to follow.

import { problemOf, type StoryOptions } from '../fleet/choices.js'
import type { Outcome } from './scenarios.js'

/** The seeds that are tried with the same options: other options change the course of a seed, so
 *  another seed may be needed. */
const SEEDS = 4
/** The most stories that are tried. */
const STORIES = 600

/** Runs the story of a seed with all options given. */
export type Run = (seed: number, options: StoryOptions) => Promise<Outcome>

export interface Shrunk {
  readonly outcome: Outcome
  /** The number of stories that were tried. */
  readonly tried: number
}

/** The broken promise, without the names and numbers of a story. */
export function promiseOf(broken: string): string {
  return broken.replace(/\d+(\.\d+)?/g, '#')
}

/**
 * @param found a story that breaks a promise
 * @param smallest the smallest value of each option
 */
export async function shrink(found: Outcome, smallest: StoryOptions, run: Run): Promise<Shrunk> {
  const promises = new Set(found.broken.map(promiseOf))
  let outcome = found
  let tried = 0

  /** Runs a story with these options. Returns it if it breaks one of the promises. */
  async function alike(options: StoryOptions): Promise<Outcome | undefined> {
    for (let i = 0; i < SEEDS && tried < STORIES; i += 1) {
      tried += 1
      const other = await run(outcome.seed + i, options)
      if (other.broken.some((what) => promises.has(promiseOf(what)))) return other
    }
    return undefined
  }

  async function smallerBy(option: keyof StoryOptions): Promise<boolean> {
    for (const value of smallerValues(outcome.options[option], smallest[option])) {
      const options = { ...outcome.options, [option]: value }
      if (problemOf(options, smallest) !== undefined) continue
      const other = await alike(options)
      if (other === undefined) continue
      outcome = other
      return true
    }
    return false
  }

  const options = Object.keys(smallest) as (keyof StoryOptions)[]
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false
    for (const option of options) isSmaller = (await smallerBy(option)) || isSmaller
  }
  return { outcome, tried }
}

/** Smaller values, in ascending order. */
function smallerValues<Value>(value: Value, smallest: Value): readonly Value[] {
  if (value === smallest) return []
  if (typeof value !== 'number' || typeof smallest !== 'number') return [smallest]
  const middle = (value + smallest) / 2
  const half = Number.isInteger(value) ? Math.floor(middle) : Number(middle.toFixed(2))
  const steps = [smallest, half, Number.isInteger(value) ? value - 1 : half]
  return [...new Set(steps)].filter((each) => each >= smallest && each < value) as Value[]
}
