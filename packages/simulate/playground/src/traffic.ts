// When requests come, and from which key. Equal settings give equal requests, at whole ms.

import { randomOf } from '@weir/testkit/virtual-time'
import { type Settings, type TrafficName, WINDOWS } from './settings.js'

export interface Arrival {
  /** In ms since the traffic began. */
  readonly atMs: number
  /** The key's place in `keys`. */
  readonly key: number
}

export interface Traffic {
  readonly arrivals: readonly Arrival[]
  readonly keys: readonly string[]
  /** When the traffic begins, in ms since 1970. */
  readonly startMs: number
  /** How long the traffic lasts, in ms. */
  readonly endMs: number
  /** When the clock's windows begin, in ms since the traffic began. */
  readonly edgesMs: readonly number[]
}

/** Traffic begins in the middle of one of the clock's windows, this long after its edge. */
function afterEdgeMs(windowMs: number): number {
  return (windowMs * 2) / 5
}
/** A multiple of every window. */
const ORIGIN_MS = Date.UTC(2026, 0, 1)

export function trafficOf(settings: Settings): Traffic {
  const { traffic, windows, seed } = settings
  const windowMs = WINDOWS[settings.window]
  const endMs = windows * windowMs
  const made = makers[traffic]({ ...settings, windowMs, random: randomOf(seed).next })
  const arrivals = made
    .map(({ atMs, key }) => ({ atMs: Math.floor(atMs), key }))
    .filter(({ atMs }) => atMs < endMs)
    .sort((one, other) => one.atMs - other.atMs)
  const keys = traffic === 'keys' ? ['u42', 'u7'] : ['u42']
  const edgesMs = Array.from(
    { length: windows },
    (_, i) => (i + 1) * windowMs - afterEdgeMs(windowMs),
  )
  const startMs = ORIGIN_MS + afterEdgeMs(windowMs)
  return { arrivals, keys, startMs, endMs, edgesMs }
}

interface Plan extends Pick<Settings, 'rate' | 'windows'> {
  readonly windowMs: number
  /** A number from 0 up to, but not including, 1. */
  readonly random: () => number
}

const makers: Readonly<Record<TrafficName, (plan: Plan) => Arrival[]>> = {
  steady: ({ rate, windows, windowMs }) => evenly(rate * windows, 0, windows * windowMs),
  bursts: (plan) => bursts(plan, 0),
  edges,
  keys(plan) {
    const quarter = Math.ceil(plan.rate / 4)
    const steady = evenly(quarter * plan.windows, 0, plan.windows * plan.windowMs)
    return [...steady, ...bursts({ ...plan, rate: plan.rate - quarter }, 1)]
  },
  poisson({ rate, windows, windowMs, random }) {
    const arrivals: Arrival[] = []
    const gap = (): number => (-Math.log(1 - random()) * windowMs) / rate
    for (let atMs = gap(); atMs < windows * windowMs; atMs += gap()) arrivals.push({ atMs, key: 0 })
    return arrivals
  },
}

function evenly(count: number, fromMs: number, ms: number): Arrival[] {
  return Array.from({ length: count }, (_, i) => ({ atMs: fromMs + (i * ms) / count, key: 0 }))
}

/** Two bursts in each window, each within a fortieth of it. */
function bursts({ rate, windows, windowMs, random }: Plan, key: number): Arrival[] {
  const arrivals: Arrival[] = []
  for (let burst = 0; burst < 2 * windows; burst += 1) {
    const fromMs = (burst / 2 + 0.45 * random()) * windowMs
    const count = burst % 2 === 0 ? Math.ceil(rate / 2) : Math.floor(rate / 2)
    for (let i = 0; i < count; i += 1)
      arrivals.push({ atMs: fromMs + (random() * windowMs) / 40, key })
  }
  return arrivals
}

/** After this many windows the attacker begins again: by then, most limits are fresh again. */
const RAID_WINDOWS = 4

/**
 * An attacker who knows where windows begin and end, and sends `rate` requests at the last moment
 * of one window and at the first of the next: at first around an edge of the clock's windows, then
 * evenly for whatever comes back, then around the end of a window that a request began.
 */
function edges({ rate, windows, windowMs }: Plan): Arrival[] {
  const arrivals: Arrival[] = []
  const all = (atMs: number): void => {
    for (let i = 0; i < rate; i += 1) arrivals.push({ atMs, key: 0 })
  }
  for (let raid = 0; raid < windows; raid += RAID_WINDOWS) {
    const edgeMs = (raid + 1) * windowMs - afterEdgeMs(windowMs)
    all(edgeMs - 1)
    all(edgeMs)
    arrivals.push(...evenly(rate, edgeMs, windowMs))
    const openedMs = edgeMs + (windowMs * 6) / 5
    arrivals.push({ atMs: openedMs, key: 0 })
    all(openedMs + windowMs - 1)
    all(openedMs + windowMs)
  }
  return arrivals
}
