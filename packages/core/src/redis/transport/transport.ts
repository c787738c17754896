// Redis as the layer that may fail: batching, dispatcher, nodes, and what they need of the client.

import type { Time } from '../../base/time.js'
import type { Backend } from '../../layers/resilience/backend.js'
import type { Peers } from '../../layers/resilience/peers.js'
import type { Target } from '../../store.js'
import type { RedisLike } from '../client/client.js'
import { firstConnection } from '../client/first-connection.js'
import { permissions } from '../client/permissions.js'
import { Heartbeat, PEERS_TAG } from '../heartbeat.js'
import type { RedisSettings } from '../options.js'
import { Batching } from './batching.js'
import { Dispatcher } from './dispatcher.js'
import { hashTagOf } from './keys.js'
import { Nodes } from './nodes.js'

export interface RedisTransport extends Backend {
  /** Processes that share the limits. */
  readonly peers: () => Peers
  /** Of a Cluster: the slots of a target's keys. */
  readonly slotsOf: ((target: Target) => readonly number[]) | undefined
  /** Sends what was gathered; what waits for a connection fails. */
  close(): void
  /** Removes this process from the peers that Redis counts. */
  leave(): Promise<void>
}

export function redisTransport(
  client: RedisLike,
  settings: RedisSettings,
  time: Time,
): RedisTransport {
  const { format, deadlineMs, instances, clock, maxInFlight } = settings
  const { prefix } = format
  const nodes = new Nodes(client, format)
  const check = permissions(client, prefix, deadlineMs, time)
  const failed = (error: unknown) => check(error, () => PEERS_TAG)
  const heartbeat = new Heartbeat(client, { prefix, time, failed })
  const connection = firstConnection(client, deadlineMs, time)
  const dispatcher = new Dispatcher(client, nodes, {
    maxInFlight,
    time,
    firstConnection: connection,
    heartbeat: instances === undefined ? heartbeat : undefined,
    failed: (node, error) => check(error, () => hashTagOf(format, nodes.keyOn(node))),
  })
  const batching = new Batching(dispatcher, { format, nodes, time, clock })
  return {
    title: 'Redis',
    recovers: true,
    next: batching,
    nodes,
    unready: () => dispatcher.unready(),
    peers: () => instances ?? heartbeat.peers,
    slotsOf: nodes.isCluster ? (target) => nodes.slotsOf(target) : undefined,
    close() {
      batching.flush()
      connection.close()
      dispatcher.close()
    },
    leave: () => heartbeat.stop(),
  }
}
