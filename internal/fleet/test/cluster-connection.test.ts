// The simulated connection to a Cluster keeps the same contract as the Cluster clients of ioredis 5
// and 6.
//
// cluster-contract.ts has what holds for both. Besides the limits that connection.test.ts lists,
// the simulation cannot show these parts of ioredis:
//
// - a node that accepts a connection and never greets. If a node is stopped, a simulated attempt to
//   connect to it ends after `connectTimeout`; one of ioredis lasts until Weir takes it to be
//   silent
// - CLUSTERDOWN, READONLY, nodes that disagree for longer than 0.2 s, and a stopped node that
//   answers before it hears that its replica has taken over
// - reads from replicas, sharded subscribers, the connection of the subscriber, `natMap`, DNS
// - ASKING as a separate command: it travels with the one that follows
// - MOVED by the node that it names, after which ioredis 6 reconnects, and ioredis 5 does not

import { beginMove, freePort, type RedisCluster, startCluster } from '@weir/testkit'
import { Cluster } from 'ioredis'
import { Cluster as Cluster5 } from 'ioredis5'
import { afterAll, beforeAll } from 'vitest'
import { recommendedClusterOptions } from '../../../packages/core/src/redis/clients/ioredis/recommended.js'
import type { RedisLike } from '../../../packages/core/src/redis/clients/ioredis/redis-like.js'
import { ioredisConnection } from '../../../packages/core/src/redis/clients/ioredis.js'
import { clusterConnection } from '../src/network/cluster-connection.js'
import { GOSSIP_US, SimulatedCluster } from '../src/redis/cluster.js'
import { Host } from '../src/world/host.js'
import { World } from '../src/world/world.js'
import { type ClusterSubject, clusterContract } from './cluster-contract.js'
import { inRealTime, inVirtualTime, LATENCY, MINUTE_US, type Open } from './contract-subject.js'

const MASTERS = 3

const openSimulated: Open<ClusterSubject> = async ({ deadlineMs, isDown = false }) => {
  const world = new World(1)
  const cluster = new SimulatedCluster(world, MASTERS)
  for (const machine of cluster.machines) machine.isDown = isDown
  const host = new Host(world, 'p0')
  const connection = clusterConnection(host, cluster, LATENCY, deadlineMs)
  const held: string[] = []
  const otherThan = (slot: number) =>
    cluster.masters.find((each) => each !== cluster.ownerOf(slot)) as (typeof cluster.masters)[0]

  return {
    ...inVirtualTime(world),
    connection,
    async move(slot) {
      const to = otherThan(slot)
      await cluster.move(slot, to, () => 0)
      await world.runFor(GOSSIP_US)
      return to.name
    },
    async beginMove(slot) {
      const { keys, moveKey } = cluster.moving(slot, otherThan(slot))
      for (const key of keys()) moveKey(key)
    },
    holdUp(node) {
      held.push(node)
      cluster.named(node).freeze(MINUTE_US)
    },
    async release() {
      for (const node of held.splice(0)) cluster.named(node).thaw()
    },
    breakConnection: async (node) => connection.reset(node),
  }
}

clusterContract('a simulated connection to a Cluster', openSimulated)

let servers: RedisCluster
beforeAll(async () => {
  servers = await startCluster({ masters: MASTERS, replicas: 0 })
})
afterAll(() => servers.stop())

/** What the tests themselves call on a client. */
interface Client extends RedisLike {
  nodes(): { readonly options: { port?: number }; readonly stream: NodeStream }[]
  on(event: 'error' | '-node', listener: () => void): unknown
  disconnect(): void
}

interface NodeStream {
  destroy(error: Error): void
}

type Master = RedisCluster['masters'][number]

const portIn = (node: string): number => Number(node.split(':')[1])
const serverOf = (node: string) =>
  servers.masters.find(({ port }) => port === portIn(node)) as Master

/** Begins to move a slot with its keys to another master. Returns a function that ends the move. */
async function moving(slot: number): Promise<{ to: string; end: () => Promise<void> }> {
  const { masters } = servers
  const from = await ownerOf(slot)
  const [source, target] = [masters[from], masters[(from + 1) % MASTERS]] as [Master, Master]
  const end = await beginMove(source, target, slot)
  return { to: `127.0.0.1:${target.port}`, end: () => end(masters) }
}

/** The master of a slot, according to the first one. */
async function ownerOf(slot: number): Promise<number> {
  const shards = (await servers.masters[0]?.command('CLUSTER', 'SLOTS')) as [
    number,
    number,
    [string, number],
  ][]
  const shard = shards.find(([first, last]) => first <= slot && slot <= last)
  return servers.masters.findIndex(({ port }) => port === shard?.[2][1])
}

const openWith =
  (make: (ports: readonly number[]) => Client): Open<ClusterSubject> =>
  async ({ deadlineMs, isDown = false }) => {
    for (const master of servers.masters) {
      await master.command('FLUSHALL')
      await master.command('SCRIPT', 'FLUSH')
    }
    const client = make(isDown ? [await freePort()] : servers.ports)
    client.on('error', () => {})
    const { time, ...subject } = inRealTime()
    const held: string[] = []
    const release = () => {
      for (const node of held.splice(0)) serverOf(node).kill('SIGCONT')
    }
    let unfinished: (() => Promise<void>) | undefined
    return {
      ...subject,
      connection: ioredisConnection(client, { deadlineMs, time }),
      async move(slot) {
        const { to, end } = await moving(slot)
        await end()
        return to
      },
      async beginMove(slot) {
        unfinished = (await moving(slot)).end
      },
      holdUp(node) {
        held.push(node)
        serverOf(node).kill('SIGSTOP')
      },
      async release() {
        release()
      },
      breakConnection(node) {
        const noticed = new Promise<void>((resolve) => {
          client.on('-node', resolve)
        })
        const to = client.nodes().find(({ options }) => options.port === portIn(node))
        to?.stream.destroy(new Error('broken by a test'))
        return noticed
      },
      async close() {
        release()
        await unfinished?.()
        client.disconnect()
      },
    }
  }

const options = {
  ...recommendedClusterOptions,
  redisOptions: { ...recommendedClusterOptions.redisOptions, connectTimeout: 5_000 },
}
const addresses = (ports: readonly number[]) => ports.map((port) => ({ host: '127.0.0.1', port }))
clusterContract(
  'a Cluster of ioredis 6',
  openWith((ports) => new Cluster(addresses(ports), options) as unknown as Client),
)
clusterContract(
  'a Cluster of ioredis 5',
  openWith((ports) => new Cluster5(addresses(ports), options) as unknown as Client),
)
