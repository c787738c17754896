// A simulated server: requests come, workers serve them in order, and a limiter in front decides
// which of them come in. Seconds take microseconds, and the same seed gives the same run.

import type { Time } from '../../src/base/time.js'
import { randomFrom } from '../virtual-time.js'

/** Time that jumps from one event to the next. */
export interface SimulatedTime extends Time {
  /** Runs what is due, until this many ms have passed. */
  runUntil(endMs: number): void
  /** The process stops: time passes, and nothing runs. */
  pause(ms: number): void
}

interface Event {
  readonly atMs: number
  readonly order: number
  action: (() => void) | undefined
}

/** Events in a binary heap, the earliest first; those of one instant in the order in which they
 *  were planned. */
export function simulatedTime(seed: number): SimulatedTime {
  let nowMs = 0
  let order = 0
  const heap: Event[] = []
  const isBefore = (a: Event, b: Event): boolean =>
    a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)

  function push(event: Event): void {
    let at = heap.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(event, heap[parent] as Event)) break
      heap[at] = heap[parent] as Event
      at = parent
    }
    heap[at] = event
  }

  function pop(): Event {
    const first = heap[0] as Event
    const last = heap.pop() as Event
    if (heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event))
        child += 1
      if (!isBefore(heap[child] as Event, last)) break
      heap[at] = heap[child] as Event
      at = child
    }
    heap[at] = last
    return first
  }

  return {
    nowMs: () => nowMs,
    nowUs: () => Date.UTC(2026, 0, 1) * 1_000 + Math.floor(nowMs * 1_000),
    random: randomFrom(seed),
    soon: (action) => push({ atMs: nowMs, order: order++, action }),
    after(ms, action) {
      const event: Event = { atMs: nowMs + ms, order: order++, action }
      push(event)
      return () => {
        event.action = undefined
      }
    },
    runUntil(endMs) {
      while (heap[0] !== undefined && heap[0].atMs <= endMs) {
        const { atMs, action } = pop()
        nowMs = Math.max(nowMs, atMs)
        action?.()
      }
      nowMs = Math.max(nowMs, endMs)
    },
    pause(ms) {
      nowMs += ms
    },
  }
}

/** Lets requests in; undefined if refused. Call the result when the request has ended. */
export type Gate = () => ((ending: 'finished' | 'left', tookMs: number) => void) | undefined

export interface Traffic {
  readonly workers: number
  /** The mean time of a request in a worker, in ms, at a given time. */
  serviceMs(atMs: number): number
  readonly isFixed: boolean
  /** Requests per second, at a given time. */
  demand(atMs: number): number
  /** Clients leave after this many ms. Default: never. */
  readonly patienceMs?: number
  readonly endMs: number
}

/** A response that reached its client. */
export interface Served {
  readonly atMs: number
  readonly tookMs: number
}

export interface Run {
  readonly served: readonly Served[]
  readonly refused: number
}

/** A server: each worker serves one request at a time, the others wait in order. */
export interface Server {
  /** @param begin called when a worker is free; its argument frees the worker */
  serve(begin: (done: () => void) => void): void
}

export function serverOf(workers: number): Server {
  const queue: ((done: () => void) => void)[] = []
  let first = 0
  let busy = 0

  function done(): void {
    busy -= 1
    const next = queue[first]
    if (next === undefined) return
    first += 1
    if (first > 1_000) {
      queue.splice(0, first)
      first = 0
    }
    busy += 1
    next(done)
  }

  return {
    serve(begin) {
      if (busy >= workers) {
        queue.push(begin)
        return
      }
      busy += 1
      begin(done)
    },
  }
}

/**
 * Starts the traffic. The result has what was served when the time has run.
 * @param server for traffic that shares one with other traffic
 */
export function start(
  traffic: Traffic,
  time: SimulatedTime,
  gate: Gate,
  server: Server = serverOf(traffic.workers),
): Run {
  const { serviceMs, isFixed, demand, patienceMs, endMs } = traffic
  const run = { served: [] as Served[], refused: 0 }
  const exponential = (mean: number): number => -Math.log(1 - time.random()) * mean

  function arrive(): void {
    const startMs = time.nowMs()
    if (startMs > endMs) return
    time.after(exponential(1_000 / demand(startMs)), arrive)
    const leave = gate()
    if (leave === undefined) {
      run.refused += 1
      return
    }
    let isOver = false
    const end = (ending: 'finished' | 'left'): void => {
      if (isOver) return
      isOver = true
      const tookMs = time.nowMs() - startMs
      if (ending === 'finished') run.served.push({ atMs: time.nowMs(), tookMs })
      leave(ending, tookMs)
    }
    if (patienceMs !== undefined) time.after(patienceMs, () => end('left'))
    server.serve((done) => {
      const mean = serviceMs(time.nowMs())
      time.after(isFixed ? mean : exponential(mean), () => {
        end('finished')
        done()
      })
    })
  }

  time.soon(arrive)
  return run
}

/** A gate with a limit that never changes. */
export function fixedGate(limit: number): Gate {
  let inFlight = 0
  return () => {
    if (inFlight >= limit) return undefined
    inFlight += 1
    return () => {
      inFlight -= 1
    }
  }
}
