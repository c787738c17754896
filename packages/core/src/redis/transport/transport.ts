// Redis as the layer that may fail: batching, dispatcher and nodes, and what they need of the
// client.

import type { Time } from '../../base/time.js'
import type { LayerRequest, Pending } from '../../layers/layer.js'
import type { Backend, BackendNode } from '../../layers/resilience/backend.js'
import type { Peers } from '../../layers/resilience/peers.js'
import type { Target } from '../../store.js'
import type { RedisLike } from '../client/client.js'
import { type FirstConnection, firstConnection } from '../client/first-connection.js'
import { permissions } from '../client/permissions.js'
import { Heartbeat, PEERS_TAG } from '../heartbeat.js'
import type { RedisSettings } from '../options.js'
import { Batching } from './batching.js'
import { Dispatcher } from './dispatcher.js'
import { hashTagOf } from './keys.js'
import { Nodes, type RedisNode } from './nodes.js'

export class RedisTransport implements Backend {
  readonly title = 'Redis'
  readonly recovers = true
  /** Processes that share the limits. */
  readonly peers: () => Peers
  /** Of a Cluster: the slots of a target's keys. */
  readonly slotsOf: ((target: Target) => readonly number[]) | undefined
  readonly #nodes: Nodes
  readonly #batching: Batching
  readonly #dispatcher: Dispatcher
  readonly #connection: FirstConnection
  readonly #heartbeat: Heartbeat

  constructor(client: RedisLike, settings: RedisSettings, time: Time) {
    const { format, deadlineMs, instances, clock, maxInFlight } = settings
    const { prefix } = format
    const nodes = new Nodes(client, format)
    const check = permissions(client, prefix, deadlineMs, time)
    this.#nodes = nodes
    this.#connection = firstConnection(client, deadlineMs, time)
    this.#heartbeat = new Heartbeat(client, {
      prefix,
      time,
      failed: (error) => check(error, () => PEERS_TAG),
    })
    this.#dispatcher = new Dispatcher(client, nodes, {
      maxInFlight,
      time,
      firstConnection: this.#connection,
      failed: (node, error) => check(error, () => hashTagOf(format, nodes.keyOn(node))),
      answered: () => {
        if (instances === undefined) this.#heartbeat.start()
      },
    })
    this.#batching = new Batching((batch) => this.#dispatcher.send(batch), {
      format,
      nodes,
      time,
      clockUs: () => clock?.nowUs(),
    })
    this.peers = () => instances ?? this.#heartbeat.peers
    this.slotsOf = client.isCluster === true ? (target) => nodes.slotsOf(target) : undefined
  }

  get nodes(): readonly BackendNode[] {
    return this.#nodes.all
  }

  nodeOf(target: Target): BackendNode {
    return this.#nodes.of(target)
  }

  keyOn(node: BackendNode): string {
    return this.#nodes.keyOn(node as RedisNode)
  }

  unready(): string | undefined {
    return this.#dispatcher.unready()
  }

  ask(request: LayerRequest, pending: Pending): void {
    this.#batching.ask(request, pending)
  }

  /** Sends what was gathered; what waits for a connection fails. */
  close(): void {
    this.#batching.flush()
    this.#connection.close()
    this.#dispatcher.close()
  }

  /** Is no peer of the others any more. */
  leave(): Promise<void> {
    return this.#heartbeat.stop()
  }
}
