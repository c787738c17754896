// What a fleet costs: the real store and limiter of each process, with servers and event loops
// whose work takes time, for a stretch of virtual time.

import { seedHashes } from '../../../../packages/core/src/base/key-hash.js'
import { inTime, RateLimiter } from '../../../../packages/core/src/limiter/limiter.js'
import type { RedisStoreOptions } from '../../../../packages/core/src/redis/options.js'
import { redisStoreIn } from '../../../../packages/core/src/redis/store.js'
import { SimulatedRedis } from '../redis/server.js'
import { World } from '../world/world.js'
import { BusyServer, type Served } from './busy-server.js'
import { type Network, plannedConnection } from './connection.js'
import { EventLoop } from './event-loop.js'
import type { Inputs } from './inputs.js'
import {
  inTicks,
  keyOf,
  Load,
  policyFor,
  storeOptionsFor,
  untilNext,
  type Workload,
} from './load.js'
import { quantile, sum } from './statistics.js'

export interface Stretch {
  /** The number of servers; more than one are a Cluster. */
  readonly masters: number
  readonly wayUs: number
  /** Whether requests come in ticks, as in a real run, or one by one. */
  readonly comes: 'in ticks' | 'one by one'
  readonly warmUpMs: number
  readonly forMs: number
  /** Options of the stores, in addition to those of the load. */
  readonly store?: RedisStoreOptions
}

/** Figures of the whole fleet, per second. */
export interface Rates {
  readonly decisions: number
  readonly admitted: number
  readonly calls: number
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface Figures extends Rates {
  /** The part of a core that Redis needs: the busiest server, and the mean of all servers. */
  readonly busiest: number
  readonly utilisation: number
  /** The part of a core that Weir and its client need in a process, on average. */
  readonly process: number
  readonly p50Us: number
  readonly p99Us: number
  /** The part of the decisions that were made without a call. */
  readonly ahead: number
}

const SETTLE_US = 50_000

export async function simulate(
  workload: Workload,
  stretch: Stretch,
  inputs: Inputs,
): Promise<Figures> {
  const { masters, wayUs, comes, warmUpMs, forMs, store } = stretch
  seedHashes([1, 2])
  const world = new World(1)
  const redisOf = (): SimulatedRedis => new SimulatedRedis(() => world.nowUs)
  const servers = Array.from(
    { length: masters },
    (_, i) => new BusyServer(world, `redis-${i}`, redisOf(), inputs.server),
  )
  const network = { world, servers, costs: inputs.client, wayUs }
  const members = Array.from({ length: workload.processes }, (_, rank) =>
    memberOf(workload, network, rank, store),
  )
  // All servers learn the script first.
  for (const { prepare } of members) prepare()
  await world.runFor(SETTLE_US)
  for (const { load, loop } of members) {
    load.restart()
    const ask = (): void => void load.ask()
    if (comes === 'in ticks') inTicks(workload, loop.time, loop.random, ask)
    else oneByOne(workload, world, loop, ask)
  }
  await world.runFor(warmUpMs * 1_000)
  const servedBefore = servers.map(({ served }) => served)
  const busyBefore = members.map(({ loop }) => loop.busyUs)
  for (const { load } of members) load.restart()
  await world.runFor(forMs * 1_000)
  const seconds = forMs / 1_000
  const served = servers.map(({ served: after }, i) => minus(after, servedBefore[i] as Served))
  const processUs = sum(members.map(({ loop }, i) => loop.busyUs - (busyBefore[i] as number)))
  const loads = members.map(({ load }) => load)
  const busy = served.map(({ busyUs }) => busyUs / 1e6 / seconds)
  const tookUs = loads.flatMap(({ outcome }) => outcome.tookUs).sort((a, b) => a - b)
  const total = (of: keyof Omit<Served, 'busyUs'>): number =>
    sum(served.map((one) => one[of])) / seconds
  const decisions = tookUs.length / seconds
  return {
    decisions,
    admitted: sum(loads.map(({ outcome }) => outcome.admitted)) / seconds,
    calls: total('calls'),
    bytesIn: total('bytesIn'),
    bytesOut: total('bytesOut'),
    busiest: Math.max(...busy),
    utilisation: sum(busy) / masters,
    process: processUs / 1e6 / seconds / members.length,
    p50Us: quantile(tookUs, 0.5),
    p99Us: quantile(tookUs, 0.99),
    ahead: sum(loads.map(({ outcome }) => outcome.ahead)) / tookUs.length,
  }
}

interface Member {
  readonly loop: EventLoop
  readonly load: Load
  readonly prepare: () => void
}

function memberOf(
  workload: Workload,
  network: Network,
  rank: number,
  options: RedisStoreOptions = {},
): Member {
  const loop = new EventLoop(network.world)
  const { time } = loop
  const ownOptions = { ...storeOptionsFor(workload, rank), ...options }
  const store = redisStoreIn(time, plannedConnection(loop, network), ownOptions)
  const policy = policyFor(workload)
  const limiter = new RateLimiter(inTime(time, { name: 'plan', store, policy, shared: true }))
  const load = new Load(workload, time, loop.random, (key) => {
    loop.spend(network.costs.decisionUs)
    return limiter.consume(key)
  })
  const prepare = (): void => {
    const { servers } = network
    // In a Cluster there are enough keys that each server has some.
    const keys = servers.length === 1 ? 1 : 20 * servers.length
    loop.receive(() => {
      for (let i = 0; i < (rank === 0 ? keys : 1); i += 1)
        void limiter.consume(`first-${rank}-${i}`)
      if (workload.bucket === 'empty' && rank === 0)
        for (let i = 0; i < workload.keys; i += 1)
          void limiter.consume(keyOf(i), { cost: workload.limit })
    })
  }
  return { loop, load, prepare }
}

/** Sends each request by itself, as when many clients send them. */
function oneByOne(workload: Workload, world: World, loop: EventLoop, ask: () => void): void {
  const perMs = workload.perSecond / workload.processes / 1_000
  let nextUs = world.livedUs
  const next = (): void => {
    nextUs += untilNext(loop.random, perMs) * 1_000
    world.after(nextUs - world.livedUs, () => {
      loop.receive(ask)
      next()
    })
  }
  next()
}

function minus(after: Served, before: Served): Served {
  return {
    busyUs: after.busyUs - before.busyUs,
    calls: after.calls - before.calls,
    bytesIn: after.bytesIn - before.bytesIn,
    bytesOut: after.bytesOut - before.bytesOut,
  }
}
