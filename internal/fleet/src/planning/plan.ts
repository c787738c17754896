// Simulates the fleets of docs/scaling.md. For each it simulates a sample: enough virtual time for
// some thousand decisions. The result includes how far samples differ from longer ones.

import type { Inputs } from './inputs.js'
import { PLAIN, type Workload } from './load.js'
import { type Figures, simulate } from './simulate.js'

/** An assumption: the time of a message between two machines of one region. */
const WAY_US = 250
/** The decisions in a sample. */
const SAMPLE = 20_000
const LONGER = 3
const LEAST_MS = 20
/** Makes overload visible: no process decides without Redis. */
const PATIENT = { deadlineMs: 60_000, maxInFlight: 1_000_000 } as const
/** Long enough for leases to grow and to end several times. */
const LEASED_MS = 600
/** With more of a core in use than this, waiting grows without end. */
const FULL = 0.95
/** The load that a Redis should have at most, which leaves room for peaks. */
const GOOD = 0.7

const PROCESSES = [1, 10, 100, 1_000] as const
export const RATES = [10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000] as const
export const HOT_PROCESSES = [10, 100, 1_000] as const
export const HOT_RATES = [10_000, 100_000, 1_000_000] as const
export const MASTERS = [1, 3, 6, 12] as const
/** Undefined: each key has its own. */
export const TAGS = [undefined, 16, 2] as const
/** The decisions that a process makes in one turn. */
export const AT_ONCE = [1, 8] as const
export const CLUSTERED_AT_ONCE = [1, 32] as const
const KEYS = 100_000
/** A key that all processes request, with leases: the requests in a ms, and what may pass. Units of
 *  a bucket come back in whole eighths of a microsecond. */
const LEASED = [
  { asked: 1_000, limit: 2_000 },
  { asked: 950, limit: 1_000 },
  { asked: 1_000, limit: 500 },
  { asked: 1_000, limit: 100 },
] as const
const LEASED_PROCESSES = 1_000
const LEASED_WINDOW_MS = 10_000
/** The fleet that uses a Cluster. */
export const CLUSTERED = { processes: 100, perSecond: 200_000 } as const

export interface Fleet {
  readonly processes: number
  /** Decisions. */
  readonly perSecond: number
  readonly keys: number
  readonly atOnce: number
  readonly leases: boolean
  readonly masters: number
  readonly hashTags?: number | undefined
}

export interface Planned extends Fleet, Figures {}

/** The largest relative differences between a sample and one that is `longer` times as long. */
export interface Checked {
  readonly longer: number
  readonly fleets: number
  readonly calls: number
  readonly utilisation: number
  readonly p99Us: number
}

export interface Plan {
  readonly sample: number
  readonly wayUs: number
  readonly checked: Checked
  readonly oneServer: readonly Planned[]
  readonly hotKey: readonly Planned[]
  readonly leased: readonly Leased[]
  readonly cluster: readonly Planned[]
}

export interface Leased extends Figures {
  /** The requested units, relative to what may pass. */
  readonly demand: number
  /** The part that passed of what may pass. */
  readonly used: number
}

const PLAIN_FLEET = { keys: KEYS, atOnce: 1, leases: false, masters: 1 } as const

export async function plan(inputs: Inputs, tell: (what: string) => void): Promise<Plan> {
  const run = (fleet: Fleet): Promise<Planned> => {
    const { processes, perSecond, masters } = fleet
    tell(`planning ${processes} processes, ${perSecond} a second, ${masters} masters`)
    return planned(fleet, inputs, SAMPLE)
  }
  const oneServer: Planned[] = []
  for (const atOnce of AT_ONCE) {
    for (const processes of PROCESSES) {
      const fleet = { ...PLAIN_FLEET, processes, atOnce }
      oneServer.push(...(await withGood(fleet, await untilFull(fleet, RATES, run), run)))
    }
  }
  const hotKey: Planned[] = []
  for (const processes of HOT_PROCESSES) {
    const hot = { ...PLAIN_FLEET, processes, keys: 1 }
    hotKey.push(...(await untilFull(hot, HOT_RATES, run)))
    // More requests may need fewer calls.
    for (const perSecond of HOT_RATES) hotKey.push(await run({ ...hot, perSecond, leases: true }))
  }
  const leased: Leased[] = []
  for (const { asked, limit } of LEASED) {
    tell(`planning a hot key that is asked for ${asked} of ${limit} times in a ms`)
    leased.push(await leasedKey(asked, limit, inputs))
  }
  const cluster: Planned[] = []
  for (const atOnce of CLUSTERED_AT_ONCE) {
    for (const hashTags of TAGS) {
      for (const masters of MASTERS)
        cluster.push(await run({ ...PLAIN_FLEET, ...CLUSTERED, atOnce, masters, hashTags }))
    }
  }
  const checked = await check(oneServer, inputs)
  return { sample: SAMPLE, wayUs: WAY_US, checked, oneServer, hotKey, leased, cluster }
}

/** Raises the rate until Redis or the processes have no time left. */
async function untilFull(
  fleet: Omit<Fleet, 'perSecond'>,
  rates: readonly number[],
  run: (fleet: Fleet) => Promise<Planned>,
): Promise<readonly Planned[]> {
  const all: Planned[] = []
  for (const perSecond of rates) {
    const one = await run({ ...fleet, perSecond })
    all.push(one)
    if (isFull(one)) break
  }
  return all
}

/** Adds a rate at which Redis has about the load that it should have at most. */
async function withGood(
  fleet: Omit<Fleet, 'perSecond'>,
  fleets: readonly Planned[],
  run: (fleet: Fleet) => Promise<Planned>,
): Promise<readonly Planned[]> {
  const perSecond = rateAtGood(fleets)
  if (perSecond === undefined) return fleets
  const all = [...fleets, await run({ ...fleet, perSecond })]
  return all.sort((a, b) => a.perSecond - b.perSecond)
}

/** The rate of decisions at which Redis has the load that it should have at most, in thousands:
 *  interpolated between two simulated rates. Undefined if the processes are full before. */
export function rateAtGood(fleets: readonly Planned[]): number | undefined {
  const next = fleets.findIndex(({ busiest }) => busiest >= GOOD)
  const above = fleets[next]
  if (above === undefined || above.process >= FULL) return undefined
  const below = fleets[next - 1] ?? { perSecond: 0, busiest: 0 }
  const part = (GOOD - below.busiest) / (above.busiest - below.busiest)
  const perSecond = below.perSecond + part * (above.perSecond - below.perSecond)
  return Math.round(perSecond / 1_000) * 1_000
}

export function isFull({ busiest, process }: Pick<Figures, 'busiest' | 'process'>): boolean {
  return busiest >= FULL || process >= FULL
}

async function planned(fleet: Fleet, inputs: Inputs, sample: number): Promise<Planned> {
  const { masters, perSecond, ...load } = fleet
  const requests = perSecond / fleet.atOnce
  // Nothing is denied.
  const workload: Workload = {
    ...PLAIN,
    hashTags: undefined,
    ...load,
    perSecond: requests,
    limit: 1e9,
    windowMs: 60_000,
  }
  const forMs = Math.max(fleet.leases ? LEASED_MS : LEAST_MS, (sample / perSecond) * 1_000)
  const warmUpMs = Math.max(fleet.leases ? LEASED_MS : LEAST_MS / 2, forMs / 4)
  const figures = await simulate(
    workload,
    { masters, wayUs: WAY_US, comes: 'one by one', warmUpMs, forMs, store: PATIENT },
    inputs,
  )
  return { ...fleet, ...figures }
}

async function leasedKey(asked: number, limit: number, inputs: Inputs): Promise<Leased> {
  const workload: Workload = {
    ...{ ...PLAIN, processes: LEASED_PROCESSES, keys: 1, leases: true },
    // The steady state.
    bucket: asked < limit ? 'full' : 'empty',
    perSecond: 1_000 * asked,
    limit: limit * LEASED_WINDOW_MS,
    windowMs: LEASED_WINDOW_MS,
  }
  const span = { warmUpMs: LEASED_MS, forMs: LEASED_MS }
  const stretch = { masters: 1, wayUs: WAY_US, comes: 'one by one', ...span } as const
  const figures = await simulate(workload, { ...stretch, store: PATIENT }, inputs)
  const may = Math.min(figures.decisions, 1_000 * limit)
  return { demand: asked / limit, used: figures.admitted / may, ...figures }
}

/** Checks, for each number of processes, the largest fleet that is not full. */
async function check(samples: readonly Planned[], inputs: Inputs): Promise<Checked> {
  const difference = { calls: 0, utilisation: 0, p99Us: 0 }
  let fleets = 0
  for (const processes of PROCESSES) {
    const sample = samples.findLast((one) => one.processes === processes && !isFull(one))
    if (sample === undefined) continue
    const { perSecond, keys, atOnce, leases, masters } = sample
    const fleet = { processes, perSecond, keys, atOnce, leases, masters }
    const long = await planned(fleet, inputs, LONGER * SAMPLE)
    fleets += 1
    for (const of of ['calls', 'utilisation', 'p99Us'] as const)
      difference[of] = Math.max(difference[of], Math.abs(sample[of] / long[of] - 1))
  }
  return { longer: LONGER, fleets, ...difference }
}
