// Sets up a Redis Cluster by hand, which is faster than redis-cli and does not need it.
import { freePort } from './ports.js'
import type { Reply } from './resp.js'
import { type RedisServer, redisArguments, startServer } from './server.js'
import { waitUntil } from './wait.js'

const SLOTS = 16_384

export interface RedisCluster {
  /** Masters first, then replicas: their roles at the start. */
  readonly nodes: readonly RedisServer[]
  readonly ports: readonly number[]
  /** The masters at the start: number i serves the i-th share of the slots. */
  readonly masters: readonly RedisServer[]
  /** Replica number i copies master i modulo the number of masters. */
  readonly replicas: readonly RedisServer[]
  stop(): Promise<void>
}

export interface ClusterOptions {
  readonly masters?: number
  readonly replicas?: number
  /** How long a node may be silent before the others take it for dead. The default of 15 s keeps a
   *  busy machine from causing a failover. */
  readonly nodeTimeoutMs?: number
  readonly args?: readonly string[]
  /** Another server than that of the other tests. */
  readonly binary?: string
}

export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const {
    masters: masterCount = 3,
    replicas: replicaCount = 3,
    nodeTimeoutMs = 15_000,
    args = [],
    binary,
  } = options
  const started = await Promise.all(
    Array.from({ length: masterCount + replicaCount }, () => startNode(args, binary)),
  )
  const nodes = started.map(({ server }) => server)
  const masters = nodes.slice(0, masterCount)
  const replicas = nodes.slice(masterCount)
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  try {
    await shareSlots(masters)
    await meet(started)
    await attachReplicas(masters, replicas)
    await Promise.all(
      nodes.map((node) =>
        waitUntil('the cluster to be up', () => isUp(node, masters.length, replicas.length)),
      ),
    )
    await Promise.all(
      nodes.map((node) => node.command('CONFIG', 'SET', 'cluster-node-timeout', nodeTimeoutMs)),
    )
  } catch (error) {
    await stop()
    throw error
  }
  return { nodes, ports: nodes.map((node) => node.port), masters, replicas, stop }
}

type Node = Pick<RedisServer, 'command' | 'port'>

/**
 * Begins to move a slot with its keys to another master, as redis-cli does. Returns a function that
 * ends the move.
 */
export async function beginMove(
  source: Node,
  target: Node,
  slot: number,
): Promise<(others?: readonly Pick<Node, 'command'>[]) => Promise<void>> {
  const [from = '', to = ''] = await Promise.all(
    [source, target].map(async (node) => String(await node.command('CLUSTER', 'MYID'))),
  )
  // From here on, the source makes no new key in the slot.
  await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from)
  await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to)
  const keys = (await source.command('CLUSTER', 'GETKEYSINSLOT', slot, 1_000)) as Reply[]
  for (const key of keys)
    await source.command('MIGRATE', '127.0.0.1', target.port, String(key), 0, 10_000)
  return async (others = []) => {
    // The new owner first; otherwise a client is redirected back and forth until it knows.
    for (const node of [target, source, ...others])
      await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', to)
  }
}

interface StartedNode {
  readonly server: RedisServer
  readonly busPort: number
}

async function startNode(extra: readonly string[], binary?: string): Promise<StartedNode> {
  let busPort = 0
  const server = await startServer(
    async (folder, port) => {
      // The default bus port, port + 10000, may be taken or above 65535. Each attempt picks a new
      // one, since another process may have taken the last one.
      busPort = await freePort()
      const args = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)]
      // Nodes hear of each other at a pace that these settings decide: with short ones, they are
      // ready in 2 seconds instead of 10.
      args.push(
        '--cluster-node-timeout',
        '1000',
        '--repl-ping-replica-period',
        '1',
        '--repl-diskless-sync-delay',
        '0',
      )
      return redisArguments(folder, port, [...args, ...extra])
    },
    undefined,
    binary,
  )
  return { server, busPort }
}

async function shareSlots(masters: readonly RedisServer[]): Promise<void> {
  const firstSlot = (i: number): number => Math.floor((SLOTS * i) / masters.length)
  await Promise.all(
    masters.map(async (master, i) => {
      await master.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
      await master.command('CLUSTER', 'ADDSLOTSRANGE', firstSlot(i), firstSlot(i + 1) - 1)
    }),
  )
}

async function meet(nodes: readonly StartedNode[]): Promise<void> {
  const [first, ...others] = nodes
  for (const { server, busPort } of others) {
    await first?.server.command('CLUSTER', 'MEET', '127.0.0.1', server.port, busPort)
  }
  await waitUntil('all nodes to know each other', async () => {
    const infos = await Promise.all(nodes.map(({ server }) => clusterInfo(server)))
    return infos.every((info) => info.get('cluster_known_nodes') === String(nodes.length))
  })
}

async function attachReplicas(
  masters: readonly RedisServer[],
  replicas: readonly RedisServer[],
): Promise<void> {
  await Promise.all(
    replicas.map(async (replica, i) => {
      const masterId = await masters[i % masters.length]?.command('CLUSTER', 'MYID')
      // A node refuses this while its handshake with a node that it has just met lasts.
      await waitUntil('a replica to follow its master', async () => {
        return (await replica.command('CLUSTER', 'REPLICATE', String(masterId))) === 'OK'
      })
    }),
  )
}

/**
 * Whether the node sees all slots served and every replica in place, and is in sync if it is one.
 */
async function isUp(
  node: RedisServer,
  masterCount: number,
  replicaCount: number,
): Promise<boolean> {
  const info = await clusterInfo(node)
  // Each shard is [first slot, last slot, master, ...replicas].
  const shards = (await node.command('CLUSTER', 'SLOTS')) as readonly (readonly Reply[])[]
  const replication = fields(await node.command('INFO', 'replication'))
  return (
    info.get('cluster_state') === 'ok' &&
    info.get('cluster_slots_ok') === String(SLOTS) &&
    shards.length === masterCount &&
    shards.reduce((sum, shard) => sum + shard.length - 3, 0) === replicaCount &&
    (replication.get('role') === 'master' || replication.get('master_link_status') === 'up')
  )
}

async function clusterInfo(node: RedisServer): Promise<Map<string, string>> {
  return fields(await node.command('CLUSTER', 'INFO'))
}

/** The `name:value` lines of an INFO reply. */
function fields(reply: unknown): Map<string, string> {
  const lines = String(reply).split('\r\n')
  return new Map(
    lines
      .filter((line) => line.includes(':'))
      .map((line) => line.split(':', 2) as [string, string]),
  )
}
