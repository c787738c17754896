// A limit on requests in flight under attack: requests that never end, clients that leave, pauses.

import { expect, test } from 'vitest'
import { inFlightLimit } from '../../src/overload/in-flight.js'
import {
  fixedGate,
  type Gate,
  type SimulatedTime,
  simulatedTime,
  start,
  type Traffic,
} from './plant.js'
import { play, quietP99, scenario } from './scenarios.js'

const WORKERS = 16
const MEAN_MS = 20
const MOST = (1_000 * WORKERS) / MEAN_MS

function limited(time: SimulatedTime, targetMs?: number) {
  const limit = inFlightLimit(targetMs, time)
  const gate: Gate = () => {
    const ticket = limit.enter()
    return ticket && ((ending) => limit.leave(ticket, ending))
  }
  return { limit, gate }
}

function traffic(parts: Partial<Traffic> = {}): Traffic {
  return {
    workers: WORKERS,
    serviceMs: () => MEAN_MS,
    isFixed: false,
    demand: () => 3 * MOST,
    endMs: 30_000,
    ...parts,
  }
}

const perSecond = (served: readonly { atMs: number }[], fromMs: number, toMs: number): number =>
  (1_000 * served.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).length) / (toMs - fromMs)

test('a server that is not loaded refuses nobody, however slow it is', () => {
  for (const serviceMs of [() => 100, (atMs: number) => (atMs < 10_000 ? 5 : 150)]) {
    const { run } = play(traffic({ serviceMs, demand: () => 50 }), 1, (time) => limited(time).gate)
    expect(run.refused).toBe(0)
  }
})

test('a server that has room for all serves them 40 s after its start', () => {
  // At 1 s each, 200 are in flight.
  const roomy = traffic({ workers: 10_000, serviceMs: () => 1_000, demand: () => 200 })
  const { run } = play({ ...roomy, endMs: 90_000 }, 1, (time) => limited(time).gate)
  expect(perSecond(run.served, 40_000, 90_000)).toBeGreaterThan(0.9 * 200)
})

test('requests that never end hold their places for ten seconds, and no longer', () => {
  const time = simulatedTime(1)
  const { limit, gate } = limited(time)
  const stuck = Array.from({ length: limit.limit }, () => limit.enter())
  expect(stuck.every((ticket) => ticket !== undefined)).toBe(true)
  expect(limit.enter()).toBeUndefined()
  const run = start(traffic(), time, gate)
  time.runUntil(30_000)
  expect(perSecond(run.served, 0, 9_000)).toBe(0)
  expect(perSecond(run.served, 15_000, 30_000)).toBeGreaterThan(0.8 * MOST)
})

test('a request that never ends costs the others nothing', () => {
  const good = (stuck: number): number => {
    const outcome = play(traffic(), 1, (time) => {
      const { limit, gate } = limited(time)
      for (let i = 0; i < stuck; i += 1) limit.enter()
      return gate
    })
    return outcome.good
  }
  expect(good(1)).toBeGreaterThan(0.95 * good(0))
})

test('a late end of a request that hung changes nothing', () => {
  const time = simulatedTime(1)
  const { limit } = limited(time)
  const ticket = limit.enter()
  time.runUntil(20_000)
  expect(limit.inFlight).toBe(0)
  limit.leave(ticket as NonNullable<typeof ticket>, 'finished')
  expect(limit.inFlight).toBe(0)
})

test('clients that hang up at once lower nobody’s limit, and free no place before their time', () => {
  const time = simulatedTime(1)
  const { limit, gate } = limited(time)
  const run = start(traffic({ demand: () => 0.5 * MOST }), time, gate)
  let most = 0
  let refusedAt = 0
  const hangUp = (): void => {
    const ticket = limit.enter()
    if (ticket === undefined) refusedAt += 1
    else time.after(1, () => limit.leave(ticket, 'left'))
    most = Math.max(most, limit.inFlight)
    time.after(2, hangUp)
  }
  time.after(5_000, hangUp)
  time.runUntil(30_000)
  const before = perSecond(run.served, 0, 5_000)
  expect(perSecond(run.served, 6_000, 30_000)).toBeGreaterThan(0.8 * before)
  // Half of the workers are busy with others; 500 a second for 20 ms each are ten more.
  expect(most).toBeGreaterThan(15)
  expect(limit.limit).toBeGreaterThanOrEqual(WORKERS)
  expect(refusedAt).toBeLessThan(25 * 500 * 0.5)
})

test('a client that hangs up frees its place after the time of a usual response', () => {
  const time = simulatedTime(1)
  const { limit, gate } = limited(time)
  start(traffic({ isFixed: true, demand: () => 0.5 * MOST, endMs: 5_000 }), time, gate)
  time.runUntil(5_050)
  expect(limit.inFlight).toBe(0)
  const ticket = limit.enter()
  limit.leave(ticket as NonNullable<typeof ticket>, 'left')
  expect(limit.inFlight).toBe(1)
  time.runUntil(5_050 + MEAN_MS + 1)
  expect(limit.inFlight).toBe(0)
})

test('if clients leave before their responses come, the limit goes down until responses come in time', () => {
  // Nobody waits longer than four usual responses. With twenty in flight for two workers all wait
  // in vain, as they do without a limit.
  const impatient = traffic({ workers: 2, demand: () => 300, patienceMs: 4 * MEAN_MS })
  const open = play(impatient, 1, () => () => () => {})
  const held = play(impatient, 1, (time) => limited(time).gate)
  expect(perSecond(open.run.served, 10_000, 30_000)).toBeLessThan(10)
  expect(perSecond(held.run.served, 10_000, 30_000)).toBeGreaterThan(60)
})

test('a few responses that nobody reads for nine seconds cost the others little', () => {
  const good = (slow: number): number => {
    const outcome = play(traffic(), 1, (time) => {
      const { limit, gate } = limited(time)
      for (let i = 0; i < slow; i += 1) {
        time.after(2_000 + 900 * i, () => {
          const ticket = limit.enter()
          if (ticket) time.after(9_000, () => limit.leave(ticket, 'finished'))
        })
      }
      return gate
    })
    return outcome.good
  }
  expect(good(20)).toBeGreaterThan(0.9 * good(0))
})

test('a pause of the process does not lower the limit', () => {
  const leastAfter = (pauseMs: number): number => {
    const time = simulatedTime(3)
    const { limit, gate } = limited(time)
    start(traffic({ isFixed: true }), time, gate)
    // Between two measurements.
    time.runUntil(8_000)
    time.pause(pauseMs)
    let least = limit.limit
    const look = (): void => {
      least = Math.min(least, limit.limit)
      time.after(20, look)
    }
    look()
    time.runUntil(8_000 + pauseMs + 2_000)
    return least
  }
  expect(leastAfter(3_000)).toBeGreaterThan(0.75 * leastAfter(0))
})

test('fewer workers lower the limit within ten seconds, more raise it', () => {
  const time = simulatedTime(1)
  const { limit, gate } = limited(time)
  // A third of 48 workers are left, which is as if each took three times as long.
  let slots = 48
  let busy = 0
  const queue: (() => void)[] = []
  const next = (): void => {
    while (busy < slots && queue.length > 0) {
      busy += 1
      ;(queue.shift() as () => void)()
    }
  }
  const arrive = (): void => {
    time.after(1_000 / (3 * 48 * 50), arrive)
    const leave = gate()
    if (leave === undefined) return
    const startMs = time.nowMs()
    queue.push(() =>
      time.after(20, () => {
        busy -= 1
        leave('finished', time.nowMs() - startMs)
        next()
      }),
    )
    next()
  }
  arrive()
  time.runUntil(20_000)
  expect(limit.limit).toBeGreaterThan(43)
  slots = 16
  time.runUntil(30_000)
  expect(limit.limit).toBeLessThan(32)
  slots = 48
  time.runUntil(50_000)
  expect(limit.limit).toBeGreaterThan(43)
})

test('a server that degrades under load is not overloaded repeatedly', () => {
  // Twice as many in flight take eight times as long each.
  const servedBehind = (gateOf: (time: SimulatedTime) => Gate): number => {
    let inside = 0
    const thrashing = traffic({
      workers: 10_000,
      serviceMs: () => MEAN_MS * Math.max(1, inside / WORKERS) ** 3,
      demand: () => 1.3 * MOST,
      endMs: 60_000,
    })
    const { run } = play(thrashing, 1, (time) => {
      const gate = gateOf(time)
      return () => {
        const leave = gate()
        if (leave === undefined) return undefined
        inside += 1
        return (...ended) => {
          inside -= 1
          leave(...ended)
        }
      }
    })
    return perSecond(run.served, 5_000, 60_000)
  }
  const best = servedBehind(() => fixedGate(WORKERS))
  expect(servedBehind((time) => limited(time).gate)).toBeGreaterThan(0.75 * best)
})

test('with a target, responses take that long under load', () => {
  const time = simulatedTime(1)
  const { gate } = limited(time, 3 * MEAN_MS)
  const run = start(traffic(), time, gate)
  time.runUntil(30_000)
  const late = run.served.filter(({ atMs }) => atMs > 10_000)
  const mean = late.reduce((sum, { tookMs }) => sum + tookMs, 0) / late.length
  expect(mean).toBeGreaterThan(2.4 * MEAN_MS)
  expect(mean).toBeLessThan(3.6 * MEAN_MS)
})

test('a small server serves at least nine tenths, and most of it in time', () => {
  for (const workers of [2, 4, 8]) {
    const small = scenario('three times too much', workers, false, 20, 60_000)
    const { run, p99 } = play(small, 1, (time) => limited(time).gate, 5_000)
    expect(perSecond(run.served, 5_000, 60_000)).toBeGreaterThan(0.75 * workers * 50)
    expect(p99).toBeLessThan(3)
    expect(quietP99(small, 0, 0)).toBeGreaterThan(0)
  }
})

test('when nothing is in flight, no timer is left', () => {
  const time = simulatedTime(1)
  const { limit } = limited(time)
  const ticket = limit.enter()
  time.runUntil(150)
  limit.leave(ticket as NonNullable<typeof ticket>, 'finished')
  let calls = 0
  const after = time.after
  time.after = (...given) => {
    calls += 1
    return after(...given)
  }
  time.runUntil(1_000)
  expect(calls).toBeLessThan(3)
})
