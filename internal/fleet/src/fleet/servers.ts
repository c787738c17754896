// The servers of a fleet: one Redis, or a Cluster.

import { clusterConnection } from '../network/cluster-connection.js'
import { type SimulatedConnection, simulatedConnection } from '../network/connection.js'
import type { Latency } from '../network/wire.js'
import { SimulatedCluster } from '../redis/cluster.js'
import { Machine } from '../redis/machine.js'
import { SimulatedRedis } from '../redis/server.js'
import type { Host } from '../world/host.js'
import type { World } from '../world/world.js'

export interface Servers {
  readonly machines: readonly Machine[]
  /** Undefined if there is one server. */
  readonly cluster: SimulatedCluster | undefined
  connect(host: Host, latency: Latency, deadlineMs: number): SimulatedConnection
}

export function oneServer(world: World): Servers {
  const machine = new Machine(world, 'redis', new SimulatedRedis(() => world.nowUs))
  return {
    machines: [machine],
    cluster: undefined,
    connect: (host, latency, deadlineMs) => simulatedConnection(host, machine, latency, deadlineMs),
  }
}

export function severalMasters(world: World, masters: number): Servers {
  const cluster = new SimulatedCluster(world, masters)
  return {
    machines: cluster.machines,
    cluster,
    connect: (host, latency, deadlineMs) => clusterConnection(host, cluster, latency, deadlineMs),
  }
}
