// What load does to a server in the simulation, and figures of a run. The best fixed limit is found
// in hindsight, by trying all.

import {
  type Gate,
  type Run,
  type SimulatedTime,
  simulatedTime,
  start,
  type Traffic,
} from './plant.js'

export interface Scenario extends Traffic {
  readonly name: string
}

type Shape = Pick<Traffic, 'serviceMs' | 'demand'>

/** By the capacity of a server with these workers per second, and the time of a request. */
const SHAPES: Readonly<Record<string, (mostPerSecond: number, meanMs: number) => Shape>> = {
  'three times too much': (most, meanMs) => ({ serviceMs: () => meanMs, demand: () => 3 * most }),
  steps: (most, meanMs) => ({
    serviceMs: () => meanMs,
    demand: (atMs) => (atMs % 20_000 < 8_000 ? 0.5 : 3) * most,
  }),
  'a ramp': (most, meanMs) => ({
    serviceMs: () => meanMs,
    demand: (atMs) => (0.2 + (2.8 * atMs) / 60_000) * most,
  }),
  'a dependency 5 times as slow': (most, meanMs) => ({
    serviceMs: (atMs) => (isSlow(atMs) ? 5 : 1) * meanMs,
    demand: () => 3 * most,
  }),
  'a dependency 30 times as slow': (most, meanMs) => ({
    serviceMs: (atMs) => (isSlow(atMs) ? 30 : 1) * meanMs,
    demand: () => 3 * most,
  }),
}

export const SLOW_FROM_MS = 15_000
export const SLOW_TO_MS = 35_000

function isSlow(atMs: number): boolean {
  return atMs >= SLOW_FROM_MS && atMs < SLOW_TO_MS
}

export const shapes: readonly string[] = Object.keys(SHAPES)

export function scenario(
  name: string,
  workers: number,
  isFixed: boolean,
  meanMs = 20,
  endMs = 50_000,
): Scenario {
  const make = SHAPES[name] as (mostPerSecond: number, meanMs: number) => Shape
  return { name, workers, isFixed, endMs, ...make((workers * 1_000) / meanMs, meanMs) }
}

/** The 99th percentile of a response without load, at the slower of two times. */
export function quietP99(traffic: Traffic, fromMs: number, toMs: number): number {
  const meanMs = Math.max(traffic.serviceMs(fromMs), traffic.serviceMs(toMs))
  return traffic.isFixed ? meanMs : meanMs * Math.log(100)
}

export interface Outcome {
  readonly run: Run
  /** Responses in at most twice the baseline 99th percentile. */
  readonly good: number
  /** The 99th percentile, in multiples of the baseline one. */
  readonly p99: number
}

/** @param learntMs when the percentile begins to count */
export function play(
  traffic: Traffic,
  seed: number,
  gateOf: (time: SimulatedTime) => Gate,
  learntMs = 0,
): Outcome {
  const time = simulatedTime(seed)
  const run = start(traffic, time, gateOf(time))
  time.runUntil(traffic.endMs)
  const ratios = run.served
    .filter(({ atMs }) => atMs >= learntMs)
    .map(({ atMs, tookMs }) => tookMs / quietP99(traffic, atMs - tookMs, atMs))
    .sort((one, other) => one - other)
  const good = run.served.filter(
    ({ atMs, tookMs }) => tookMs <= 2 * quietP99(traffic, atMs - tookMs, atMs),
  )
  return { run, good: good.length, p99: ratios[Math.floor(ratios.length * 0.99)] ?? 0 }
}

/** The most good responses with any of the gates. */
export function bestOf(
  traffic: Traffic,
  gates: readonly ((time: SimulatedTime) => Gate)[],
): number {
  return Math.max(...gates.map((gate) => play(traffic, 99, gate).good))
}

/**
 * The best that a limit on the rate could do for response times: in hindsight it knows nine tenths
 * of what is served. It learns that a server has become slow when the first response after that has
 * taken longer than `slowMs`; then it lets nothing in until the queue is empty. Before it lets in
 * more, it waits until nothing slow is left.
 */
export function oracleGate(traffic: Traffic, slowMs: number): (time: SimulatedTime) => Gate {
  return (time) => {
    let serviceMs = traffic.serviceMs(0)
    let nextMs = 0
    let inside = 0
    let isFull = false
    let drainedTo = 0

    function learn(tookMs: number): void {
      const nowMs = traffic.serviceMs(time.nowMs())
      if (nowMs === serviceMs || (nowMs > serviceMs && tookMs <= slowMs)) return
      isFull = true
      drainedTo = nowMs > serviceMs ? traffic.workers : 0
      serviceMs = nowMs
      nextMs = time.nowMs()
    }

    return () => {
      isFull &&= inside > drainedTo
      if (isFull || time.nowMs() < nextMs) return undefined
      nextMs = Math.max(nextMs, time.nowMs() - 20) + serviceMs / (0.9 * traffic.workers)
      inside += 1
      return (_, tookMs) => {
        inside -= 1
        learn(tookMs)
      }
    }
  }
}

/** How often the values changed direction, by at least a tenth. */
export function turnsOf(values: readonly number[]): number {
  let turns = 0
  let direction = 0
  let [from = 0] = values
  for (const value of values) {
    if (Math.abs(value - from) < 0.1 * from) continue
    const to = Math.sign(value - from)
    if (direction !== 0 && to !== direction) turns += 1
    direction = to
    from = value
  }
  return turns
}

/** When, in ms after `fromMs`, each second begins to have at least such a part of the capacity. */
export function recoveredMs(run: Run, fromMs: number, toMs: number, perSecond: number): number {
  let recovered = 0
  for (let atMs = fromMs; atMs + 1_000 <= toMs; atMs += 1_000) {
    const inSecond = run.served.filter((one) => one.atMs >= atMs && one.atMs < atMs + 1_000).length
    if (inSecond < perSecond) recovered = atMs + 1_000 - fromMs
  }
  return recovered
}
