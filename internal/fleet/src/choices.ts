// What a story is about, as one plain value: its seed draws it, and whoever looks for a smaller
// story that breaks the same promise may give other values.

import { randomOf } from '@weir/testkit/virtual-time'
import {
  fixedWindow,
  type Policy,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../packages/core/src/index.js'

/** Longer than any story, so that whatever was admitted still counts. */
const WINDOW = '1h'
/** So that these numbers are not those of the world, which has the seed itself. */
const OTHER_SEED = 0x2c1b3c6d

const POLICIES = {
  'token-bucket': (limit: number): Policy =>
    tokenBucket({ capacity: limit, refill: 1, every: WINDOW }),
  'fixed-window': (limit: number): Policy => fixedWindow({ limit, window: WINDOW }),
  'sliding-window': (limit: number): Policy => slidingWindow({ limit, window: WINDOW }),
  'sliding-counter': (limit: number): Policy => slidingCounter({ limit, window: WINDOW }),
  'sliding-log': (limit: number): Policy => slidingLog({ limit, window: WINDOW }),
}

export type StoryAlgorithm = keyof typeof POLICIES

const ALGORITHMS = Object.keys(POLICIES) as StoryAlgorithm[]

export interface StoryOptions {
  readonly processes: number
  readonly limit: number
  readonly keys: number
  readonly algorithm: StoryAlgorithm
  readonly denyCache: boolean
  /** Units that are asked for in a story, x the limits of all keys. */
  readonly demand: number
  /** The most requests of a process in one turn of its event loop. */
  readonly mostAtOnce: number
  /** How long something is wrong. */
  readonly faultMs: number
  /** How often it goes wrong, in scenarios in which it may more than once. */
  readonly faults: number
  /** Of a Cluster, in scenarios that have one. */
  readonly masters: number
  /** How many its keys share; below 2: each has its own. */
  readonly hashTags: number
}

/**
 * What the seed says.
 * @param least the fewest processes
 * @param given is taken as it is, and does not change what is drawn for the rest
 */
export function optionsOf(
  seed: number,
  least: number,
  given: Partial<StoryOptions> = {},
): StoryOptions {
  const random = randomOf(seed ^ OTHER_SEED)
  const processes = random.whole(least, 6)
  const drawn: StoryOptions = {
    processes,
    limit: random.whole(processes, random.pick([20, 100, 400])),
    keys: random.whole(1, 3),
    algorithm: random.pick(ALGORITHMS),
    denyCache: random.chance(0.5),
    // From less than the limit to so much that the limit is reached before anything goes wrong.
    demand: Number((0.4 + 6 * random.next() ** 2).toFixed(2)),
    mostAtOnce: random.whole(1, 6),
    faultMs: random.whole(1_000, 4_000),
    faults: random.whole(1, 8),
    masters: random.whole(2, 4),
    hashTags: random.pick([0, 2, 2, 16]),
  }
  const options = { ...drawn, ...given }
  // A process with a quota of 0 has another bound: what is not given makes room for what is.
  return given.limit === undefined
    ? { ...options, limit: Math.max(options.limit, options.processes) }
    : { ...options, processes: Math.min(options.limit, options.processes) }
}

/**
 * The smallest value of each option: no seed says less.
 * @param least the fewest processes
 */
export function smallestOptions(least: number): StoryOptions {
  return {
    processes: least,
    keys: 1,
    faults: 1,
    demand: 0.4,
    limit: least,
    mostAtOnce: 1,
    denyCache: false,
    algorithm: 'fixed-window',
    faultMs: 1_000,
    masters: 2,
    hashTags: 0,
  }
}

/** Why there is no story with these options; undefined: there is one. */
export function problemOf(options: object, smallest: StoryOptions): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    const least = smallest[name as keyof StoryOptions]
    if (least === undefined)
      return `there is no ${name}; there are ${Object.keys(smallest).join(', ')}`
    if (typeof value !== typeof least) return `${name} must be a ${typeof least}`
    if (typeof least === 'number' && !(value >= least)) return `${name} must be ${least} or more`
    if (Number.isInteger(least) && !Number.isSafeInteger(value)) return `${name} must be whole`
  }
  const { algorithm, processes = 0, limit = Infinity } = options as Partial<StoryOptions>
  if (algorithm !== undefined && !ALGORITHMS.includes(algorithm))
    return `algorithm must be one of ${ALGORITHMS.join(', ')}`
  if (limit < processes) return 'the limit must be at least the number of processes'
  return undefined
}

export function policyOf({ algorithm, limit }: StoryOptions): Policy {
  return POLICIES[algorithm](limit)
}
