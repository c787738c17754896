// The kinds of policies in walks, as data that any version can read.

import { algorithms } from '@weir/core/testing'
import type { Random } from '@weir/testkit/virtual-time'

/** The input of `policyFrom`. */
export type PolicyData = Readonly<Record<string, unknown>> & { readonly algorithm: string }

/** Policies with the same time scale, for any multiple of a limit. */
export type Scaled = (times: number) => PolicyData

interface Kind {
  /** The folder of its kernel. */
  readonly kernel: string
  readonly make: (name: string, random: Random) => Scaled
}

/** Limits that walks reach, with windows from a moment to a day. */
const LIMITS = [0, 1, 1, 2, 3, 5, 5, 8, 12, 20, 30, 100]
const SPANS = [50, 1_000, 1_000, 10_000, 10_000, 61_007, 3_600_000, 86_400_000]
const PERIODS = ['hour', 'day', 'week', 'month', 'year']
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata']

function bucket(make: (random: Random) => (times: number) => PolicyData): Kind {
  return {
    kernel: 'bucket',
    make(name, random) {
      const maxWait = random.chance(0.3) ? random.pick([500, 10_000, 3_600_000]) : undefined
      const scaled = make(random)
      return (times) => ({ ...scaled(times), name, ...(maxWait === undefined ? {} : { maxWait }) })
    },
  }
}

function windowed(
  kernel: string,
  algorithm: string,
  rest: (random: Random) => object = (random) => ({ window: random.pick(SPANS) }),
): Kind {
  return {
    kernel,
    make(name, random) {
      const limit = random.pick(LIMITS)
      const own = rest(random)
      return (times) => ({ algorithm, name, limit: limit * times, ...own })
    },
  }
}

/** Kinds with more to draw than a limit and a window; and fixed windows of the calendar. */
const OTHERS: Readonly<Record<string, Kind>> = {
  'token-bucket': bucket((random) => {
    const [capacity, refill, every] = [random.pick(LIMITS), random.whole(1, 50), random.pick(SPANS)]
    const algorithm = 'token-bucket'
    return (times) => ({ algorithm, capacity: capacity * times, refill: refill * times, every })
  }),
  gcra: bucket((random) => {
    const [burst, limit, period] = [random.pick(LIMITS), random.whole(1, 50), random.pick(SPANS)]
    return (times) => ({ algorithm: 'gcra', burst: burst * times, limit: limit * times, period })
  }),
  'leaky-bucket': bucket((random) => {
    const [capacity, leak, every] = [random.pick(LIMITS), random.whole(1, 50), random.pick(SPANS)]
    const algorithm = 'leaky-bucket'
    return (times) => ({ algorithm, capacity: capacity * times, leak: leak * times, every })
  }),
  'fixed-window': windowed('fixed-window', 'fixed-window', (random) => ({
    window: random.pick(SPANS),
    aligned: random.chance(0.4),
  })),
  calendar: windowed('fixed-window', 'fixed-window', (random) => ({
    window: random.pick(PERIODS),
    timeZone: random.pick(ZONES),
  })),
  'sliding-window': windowed('sliding-log', 'sliding-window', (random) => ({
    window: random.pick(SPANS),
    ...(random.chance(0.5) ? { parts: random.whole(2, 60) } : {}),
  })),
  lockout: windowed('lockout', 'lockout', (random) => {
    const [block, next] = [random.pick(SPANS), random.whole(1, 5)]
    return {
      window: random.pick(SPANS),
      block: [block, block * (1 + next)],
      forget: block * 20,
      starts: random.pick(['limit', 'excess']),
    }
  }),
  concurrency: windowed('concurrency', 'concurrency', (random) => ({
    holdTimeout: random.pick(SPANS.filter((span) => span >= 1_000)),
  })),
}

/** By algorithm, with those others. */
export const KINDS: Readonly<Record<string, Kind>> = {
  ...Object.fromEntries(
    Object.entries(algorithms).flatMap(([folder, { policies }]) =>
      Object.values(policies).map(({ of }) => {
        const { algorithm } = of(1, '1s')
        return [algorithm, windowed(folder, algorithm)]
      }),
    ),
  ),
  ...OTHERS,
}

/** The kinds that use these kernels. */
export function kindsOn(kernels: readonly string[]): string[] {
  return Object.keys(KINDS).filter((name) => kernels.includes(KINDS[name]?.kernel ?? ''))
}
