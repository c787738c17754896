// A simulated Cluster client: a Connection to the nodes of a simulated Cluster. It behaves as
// ioredis's Cluster with Weir's recommended options, under Weir's adapter. Calls to a node that is
// connected, or is being connected, go there directly. Calls that the node refers elsewhere, or
// that have no connection, go through the client, which follows redirections (redirects.ts).

import { silenceWatch } from '../../../../packages/core/src/redis/clients/ioredis/silence.js'
import type { Send } from '../../../../packages/core/src/redis/connection.js'
import type { SimulatedCluster } from '../redis/cluster.js'
import type { Host } from '../world/host.js'
import { Pool } from './cluster-pool.js'
import { ClusterSlots } from './cluster-slots.js'
import { backOffUs, type SimulatedConnection } from './connection.js'
import type { Link } from './link.js'
import { REDIRECTION, redirecting } from './redirects.js'
import type { Latency } from './wire.js'

export function clusterConnection(
  host: Host,
  cluster: SimulatedCluster,
  latency: Latency,
  deadlineMs: number,
): SimulatedConnection {
  const client = new ClusterClient(host, cluster, latency)
  const { pool, slots } = client
  const watch = silenceWatch(deadlineMs, host.time)
  const isReady = (): boolean => client.status === 'ready'
  const call = redirecting({ host, pool, slots, isReady })

  const directlyTo =
    (link: Link): Send =>
    (command, args) =>
      link.send(command, args).then(undefined, (error: Error) => {
        if (REDIRECTION.test(error.message)) return call(command, args)
        throw error
      })

  return {
    place: cluster.machines.map(({ name }) => name),
    isCluster: true,
    keyPrefix: '',
    database: 0,
    nodeOf: (slot) => slots.masterOf(slot),
    call,
    inOneWrite(node, items, ask) {
      const link = pool.get(node)
      if (link?.status === 'ready') watch(link)
      for (const item of items) {
        // The first call may start the connection.
        const hasBegun = link !== undefined && link.status !== 'wait'
        ask(item, hasBegun ? directlyTo(link) : call)
      }
    },
    lineTo: (node) => pool.get(node),
    unready: () => (isReady() ? undefined : `the client is ${client.status}`),
    attempt: () => client.attempt,
    there: pool.there,
    back: pool.back,
    reset: (name) => pool.break('read ECONNRESET', name),
  }
}

/** The client's attempts to connect: it asks for the slots, and then asks one of the masters for
 *  the state of the Cluster. */
class ClusterClient {
  status: 'connecting' | 'connect' | 'ready' | 'reconnecting' = 'connecting'
  attempt: Promise<void> | undefined
  readonly pool: Pool
  readonly slots: ClusterSlots
  readonly #host: Host
  /** The nodes that the application names: all of them. */
  readonly #names: readonly string[]
  #failures = 0
  #endAttempt = (): void => {}

  constructor(host: Host, cluster: SimulatedCluster, latency: Latency) {
    const random = host.random.fork()
    this.#host = host
    this.#names = cluster.machines.map(({ name }) => name)
    this.pool = new Pool({ host, random, cluster, latency, drained: () => this.#drained() })
    this.slots = new ClusterSlots({
      host,
      random,
      pool: this.pool,
      isLost: () => this.status === 'reconnecting',
      learned: (masters) => this.#learned(masters),
    })
    this.#connect()
  }

  #connect(): void {
    this.status = 'connecting'
    this.attempt = new Promise((resolve) => {
      this.#endAttempt = resolve
    })
    this.pool.reset(this.#names, [])
    this.slots.refresh((hasFailed) => {
      if (hasFailed && this.status === 'connecting') this.#disconnect()
    })
  }

  #learned(masters: readonly string[]): void {
    const replicas = this.#names.filter((name) => !masters.includes(name))
    this.pool.reset(masters, replicas)
    if (this.status !== 'connecting') return
    this.status = 'connect'
    const ready = (): void => {
      if (this.status !== 'connect') return
      this.status = 'ready'
      this.#failures = 0
      this.#attempted()
    }
    const failed = (): void => {
      if (this.status === 'connect') this.#disconnect()
    }
    this.pool.sample()?.send('cluster info', []).then(ready, failed)
  }

  #disconnect(): void {
    this.pool.reset([], [])
  }

  #drained(): void {
    if (this.status === 'reconnecting') return
    this.status = 'reconnecting'
    this.#attempted()
    this.#failures += 1
    this.#host.run(backOffUs(this.#host, this.#failures), () => this.#connect())
  }

  #attempted(): void {
    this.attempt = undefined
    this.#endAttempt()
  }
}
