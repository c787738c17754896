// The options of a story, as one plain value. The seed draws them; a search for a smaller story
// that breaks the same promise may give other values.

import { type Random, randomOf } from '@weir/testkit/virtual-time'
import { ALGORITHMS } from './policies.js'

/** Makes these random numbers differ from those of the world, which uses the seed itself. */
const OTHER_SEED = 0x2c1b3c6d

const KINDS = ['plain', 'flows', 'hot', 'hot flows', 'crowded', 'guessers'] as const

export const OUTAGES = ['down', 'frozen', 'full', 'none'] as const

/** The options, each with its smallest value: no seed draws a smaller one. */
const SMALLEST = {
  processes: 1,
  keys: 1,
  /** The minimum length of key names. Redis stores long ones as a hash. */
  keyLength: 0,
  /** The limit of the policy for outages; 0: there is none. */
  ownLimit: 0,
  /** The number of faults, in scenarios that may have more than one. */
  faults: 1,
  /** The units requested in a story, as a multiple of the limits of all keys. */
  demand: 0.4,
  limit: 1,
  /** The most requests of a process in one turn of its event loop. */
  mostAtOnce: 1,
  denyCache: false,
  /** The algorithm of the first policy. */
  algorithm: 'fixed-window',
  /** How long a fault lasts. */
  faultMs: 1_000,
  /** The masters of a Cluster, in scenarios that have one. */
  masters: 2,
  /** How many hash tags the keys share; below 2, each key has its own. */
  hashTags: 0,
  /** `flows`: buckets that are full again in `refillMs`. `hot`: leases. `hot flows`: both.
   *  `crowded`: more keys than a process remembers. `guessers`: the first policy is a lock-out,
   *  whose block outlasts the story. */
  kind: 'plain' as (typeof KINDS)[number],
  /** The number of policies of a decision. */
  policies: 1,
  /** The last of several policies is for all keys together. */
  shared: false,
  /** Processes are counted by their heartbeats; otherwise they are told how many they are. */
  counted: false,
  /** The limit changes while the story runs. */
  live: false,
  /** The percentage of each limit that a class leaves to others; 0: there are no classes. */
  batch: 0,
  /** The percentage of consuming requests that cost more than one unit, and the most units. */
  weighted: 0,
  mostUnits: 1,
  /** Percentages of all requests that call other methods of the limiter, by name. */
  upTo: 0,
  peek: 0,
  penalty: 0,
  refund: 0,
  settle: 0,
  reset: 0,
  wait: 0,
  /** The limit of a concurrency whose slots processes hold while they work; 0: there is none.
   *  Always 0 in `crowded` stories, where a process may forget keys whose slots it holds. */
  slots: 0,
  /** How long a slot lasts. */
  slotMs: 1_000,
  /** The work that is requested, as a multiple of what the slots allow. */
  slotDemand: 0.3,
  /** The limit of a budget that holds estimates; 0: there is none, as in `crowded` stories. */
  budget: 0,
  /** How long an estimate is held. */
  budgetMs: 1_000,
  /** The estimates that are made, as a multiple of those for which a limit has room. */
  budgetDemand: 0.3,
  refillMs: 1_000,
  leaseUnits: 2,
  holdMs: 100,
  /** In scenarios with an outage of several parts (stories/scenarios/outages.ts), what happens to
   *  Redis: it is down; it freezes; or it is full, and refuses what writes. */
  outage: 'down' as (typeof OUTAGES)[number],
  /** The same: with a snapshot of which age Redis comes back, if it was down; 0: with all its
   *  data. */
  snapshotMs: 0,
  /** The same: how far apart processes come back, by the network. */
  apartMs: 0,
  /** The same: the longest time for which some processes are stopped; 0: none is. */
  stopMs: 0,
  /** The same: how many processes start while the story runs, and how long after its start, at the
   *  most, each makes its first call. At least one process is there from the beginning. */
  newcomers: 0,
  lateMs: 0,
  /** The same: by how much the clock of Redis steps back or forward, at the most. Limits that
   *  change while the story runs change by this clock; in their stories it stands. */
  stepMs: 0,
}

export type StoryOptions = Readonly<typeof SMALLEST>

/** Older than any story, so Redis comes back empty. */
const EMPTY_MS = 60_000

/**
 * The options of a seed.
 * @param least the minimum number of processes
 * @param given options to use as they are; they do not change what is drawn for the rest
 */
export function optionsOf(
  seed: number,
  least: number,
  given: Partial<StoryOptions> = {},
): StoryOptions {
  const random = randomOf(seed ^ OTHER_SEED)
  const processes = random.whole(least, 6)
  const plain = {
    processes,
    limit: random.whole(processes, random.pick([20, 100, 400])),
    keys: random.whole(1, 3),
    algorithm: random.pick(ALGORITHMS),
    denyCache: random.chance(0.5),
    // From less than the limit to so much that the limit is reached before the fault begins.
    demand: twoDigits(0.4 + 6 * random.next() ** 2),
    mostAtOnce: random.whole(1, 6),
    faultMs: random.whole(1_000, 4_000),
    faults: random.whole(1, 8),
    masters: random.whole(2, 4),
    hashTags: random.pick([0, 2, 2, 16]),
    keyLength: random.chance(0.1) ? random.pick([200, 257, 1_100]) : 0,
  }
  const requests = requestsOf(random, plain.limit)
  const ofKind = kindOf(random, least, plain, given.kind)
  const slots = slotsOf(random, processes)
  const parts = { ...slots, ...ofKind, ...outageOf(random) }
  const drawn: StoryOptions = { ...plain, ...requests, ...parts, ...budgetOf(random, processes) }
  const options = { ...drawn, ...given }
  // A process with a quota of 0 has another bound, so the options that were not given are adjusted.
  return given.limit === undefined
    ? { ...options, limit: Math.max(options.limit, options.processes) }
    : { ...options, processes: Math.min(options.limit, options.processes) }
}

/** The options of a story in which all requests are plain. */
export const PLAIN: Partial<StoryOptions> = {
  ...{ kind: 'plain', policies: 1, counted: false, live: false, batch: 0, weighted: 0, upTo: 0 },
  ...{ peek: 0, penalty: 0, refund: 0, settle: 0, reset: 0, wait: 0, slots: 0 },
}

/** Most requests of most stories consume one unit, as most requests of users do. */
function requestsOf(random: Random, limit: number) {
  /** In a part of the stories, up to `most` per cent. */
  const sometimes = (stories: number, most: number): number =>
    random.chance(stories) ? random.whole(1, most) : 0
  return {
    policies: random.chance(0.7) ? 1 : random.whole(2, 3),
    ownLimit: 0,
    shared: random.chance(0.3),
    counted: random.chance(0.25),
    live: random.chance(0.3),
    batch: sometimes(0.15, 99),
    weighted: sometimes(0.4, 99),
    mostUnits: random.whole(2, Math.max(2, Math.ceil(limit / 5))),
    upTo: sometimes(0.2, 30),
    peek: sometimes(0.2, 20),
    penalty: sometimes(0.2, 10),
    refund: sometimes(0.3, 40),
    settle: sometimes(0.2, 40),
    reset: sometimes(0.15, 3),
    wait: sometimes(0.05, 20),
  }
}

/** The parts of an outage, each drawn by itself. */
function outageOf(random: Random) {
  const sometimes = (stories: number, most: number): number =>
    random.chance(stories) ? random.whole(1, most) : 0
  return {
    outage: random.pick(['down', 'down', 'frozen', 'full', 'none'] as const),
    snapshotMs: random.pick([0, random.whole(1, 4_000), random.whole(4_000, 12_000), EMPTY_MS]),
    apartMs: sometimes(0.6, 4_500),
    stopMs: sometimes(0.3, random.pick([1_000, 30_000])),
    newcomers: sometimes(0.3, 3),
    lateMs: sometimes(0.5, 5_000),
    stepMs: sometimes(0.3, 100),
  }
}

/** In some stories, processes hold slots as well. */
function slotsOf(random: Random, processes: number) {
  const slots = random.whole(processes, random.pick([processes, 12, 40]))
  return {
    slots: random.chance(0.25) ? slots : 0,
    slotMs: random.whole(1_000, 3_000),
    slotDemand: twoDigits(0.3 + 3 * random.next() ** 2),
  }
}

/** In some stories, processes make estimates of budgets as well. */
function budgetOf(random: Random, processes: number) {
  return {
    budget: random.chance(0.25) ? random.whole(processes, random.pick([10, 40, 200])) : 0,
    budgetMs: random.whole(1_000, 3_000),
    budgetDemand: twoDigits(0.3 + 2 * random.next() ** 2),
  }
}

type OfKind = Pick<StoryOptions, 'kind' | 'refillMs' | 'leaseUnits' | 'holdMs'>

/** The number that leads to a kind that was given. */
const CHANCES: Partial<Record<StoryOptions['kind'], number>> = { plain: 0.5, guessers: 1 }

/** Some stories are of a special kind, with numbers that suit it, unless `plain` is given. */
function kindOf(
  random: Random,
  least: number,
  { processes, demand }: Pick<StoryOptions, 'processes' | 'demand'>,
  given: StoryOptions['kind'] | undefined,
): OfKind & Partial<StoryOptions> {
  const numbers = {
    refillMs: random.whole(2_000, 8_000),
    leaseUnits: random.whole(2, 100),
    holdMs: random.whole(200, 1_000),
  }
  const chance = given === undefined ? random.next() : (CHANCES[given] ?? random.next())
  const few = Math.max(2, least)
  if (chance < 0.1)
    return {
      ...numbers,
      kind: 'flows',
      limit: random.whole(processes, random.pick([20, 60])),
      demand: twoDigits(3 * demand),
      policies: random.chance(0.8) ? 1 : 2,
      wait: random.whole(1, 99),
    }
  // A key gets leases from about 20 requests a second on.
  if (chance < 0.22) {
    const [kind, times] = chance < 0.13 ? (['hot flows', 3] as const) : (['hot', 1] as const)
    return {
      ...{ ...numbers, kind, processes: few, keys: 1, limit: random.whole(few, 600) },
      ...{ demand: twoDigits(times * (0.4 + 2 * random.next() ** 2)), batch: 0, upTo: 0 },
    }
  }
  if (chance < 0.224)
    return {
      ...{ ...numbers, kind: 'crowded', processes: few, limit: 10, demand: 0.5 },
      keys: random.whole(2_000, 4_000),
    }
  // A lock-out counts each request as one attempt, whatever it costs, and ignores classes.
  if (chance > 0.9)
    return {
      ...{ ...numbers, kind: 'guessers', limit: random.whole(processes, 30) },
      ...{ batch: 0, weighted: 0, upTo: 0, mostUnits: 1 },
      refund: random.chance(0.3) ? random.whole(1, 20) : 0,
    }
  return { ...numbers, kind: 'plain' }
}

function twoDigits(number: number): number {
  return Number(number.toFixed(2))
}

/** The smallest story.
 *  @param least the minimum number of processes */
export function smallestOptions(least: number): StoryOptions {
  return { ...SMALLEST, processes: least, limit: least }
}

/** Explains why no story can have these options; undefined if one can. */
export function problemOf(options: object, smallest: StoryOptions): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    const least = smallest[name as keyof StoryOptions]
    if (least === undefined)
      return `there is no ${name}; there are ${Object.keys(smallest).join(', ')}`
    if (typeof value !== typeof least) return `${name} must be a ${typeof least}`
    if (typeof least === 'number' && !(value >= least)) return `${name} must be ${least} or more`
    if (Number.isInteger(least) && !Number.isSafeInteger(value)) return `${name} must be whole`
  }
  const { algorithm, kind, outage, ...counts } = options as Partial<StoryOptions>
  const { processes = 0, limit = Infinity } = counts
  if (algorithm !== undefined && !ALGORITHMS.includes(algorithm))
    return `algorithm must be one of ${ALGORITHMS.join(', ')}`
  if (kind !== undefined && !KINDS.includes(kind)) return `kind must be one of ${KINDS.join(', ')}`
  if (outage !== undefined && !OUTAGES.includes(outage))
    return `outage must be one of ${OUTAGES.join(', ')}`
  if (limit < processes) return 'the limit must be at least the number of processes'
  return undefined
}
