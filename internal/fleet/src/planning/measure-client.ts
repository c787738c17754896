// The CPU time of decisions in a process, for Weir and ioredis together: for one key or for many at
// once, of one limiter or of several, which need a call each.

import { startRedis } from '@weir/testkit'
import type { ClientCosts } from './inputs.js'
import { PLAIN, type Workload } from './load.js'
import { connected, type Opened, openLimiter, PATIENT_MS } from './real-process.js'
import { median, type Observation, partsOf, quantile } from './statistics.js'

/** The decisions of one turn: for each limiter this many keys, each this many times. */
interface Shape {
  readonly limiters: number
  readonly keys: number
  readonly times: number
}

const SHAPES: readonly Shape[] = [
  ...[1, 4, 16, 32].map((keys) => ({ limiters: 1, keys, times: 1 })),
  ...[4, 32].map((times) => ({ limiters: 1, keys: 1, times })),
  { limiters: 1, keys: 16, times: 4 },
  ...[1, 8].map((keys) => ({ limiters: 4, keys, times: 1 })),
  { limiters: 16, keys: 1, times: 1 },
]
const LIMITERS = 16
const KEYS = 100_000
/** V8 needs a few hundred thousand decisions to optimize the code. */
const WARM_ROUNDS = 2
const WORKLOAD: Workload = {
  ...PLAIN,
  processes: 1,
  perSecond: 0,
  windowMs: 60_000,
  keys: KEYS,
  limit: 1_000_000_000,
}

export async function measureClient(
  rounds: number,
  turnMs: number,
): Promise<{ client: ClientCosts; aloneUs: number }> {
  const server = await startRedis()
  const client = await connected(server.port)
  const opened: Opened[] = []
  const options = { deadlineMs: PATIENT_MS }
  try {
    for (let i = 0; i < LIMITERS; i += 1)
      opened.push(await openLimiter(client, WORKLOAD, `limiter-${i}`, 0, options))
    const measured = SHAPES.map((): number[] => [])
    for (let round = -WARM_ROUNDS; round < rounds; round += 1) {
      for (const [i, shape] of SHAPES.entries()) {
        const cost = await costOf(opened, shape, turnMs)
        if (round >= 0) measured[i]?.push(cost)
      }
    }
    const aloneUs = await lonely(opened[0] as Opened, 2 * turnMs)
    return { client: costsFrom(measured.map(median)), aloneUs }
  } finally {
    for (const one of opened) await one.close()
    client.disconnect()
    await server.stop()
  }
}

function costsFrom(costs: readonly number[]): ClientCosts {
  const observations = SHAPES.map(({ limiters, keys, times }, i): Observation => {
    const all = limiters * keys
    return { counts: [1, limiters, all, all * times], cost: costs[i] as number }
  })
  const [writeUs = 0, callUs = 0, keyUs = 0, decisionUs = 0] = partsOf(observations)
  return { writeUs, callUs, keyUs, decisionUs }
}

/** The CPU time of one turn, in microseconds. */
async function costOf(opened: readonly Opened[], shape: Shape, turnMs: number): Promise<number> {
  const { limiters, keys, times } = shape
  const used = opened.slice(0, limiters)
  let turns = 0
  let next = 0
  const before = process.cpuUsage()
  const endMs = performance.now() + turnMs
  while (performance.now() < endMs) {
    const asked: Promise<unknown>[] = []
    for (let k = 0; k < keys; k += 1) {
      next = (next + 1) % KEYS
      const key = `user-${next}`
      for (const { limiter } of used)
        for (let i = 0; i < times; i += 1) asked.push(limiter.consume(key))
    }
    await Promise.all(asked)
    turns += 1
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / turns
}

/** The median time of a decision that comes alone, in microseconds. */
async function lonely({ limiter }: Opened, forMs: number): Promise<number> {
  const tookUs: number[] = []
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, 2))
    const askedMs = performance.now()
    await limiter.consume('user-0')
    tookUs.push((performance.now() - askedMs) * 1_000)
  }
  return quantile(
    tookUs.sort((a, b) => a - b),
    0.5,
  )
}
