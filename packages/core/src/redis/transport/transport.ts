// Redis as the layer that may fail: batching gathers requests into calls, and the exchange sends
// these to the nodes and hands out the replies.

import type { Time } from '../../base/time.js'
import type { Backend } from '../../layers/resilience/backend.js'
import type { Peers } from '../../layers/resilience/peers.js'
import type { Settings } from '../../settings.js'
import type { Target } from '../../store.js'
import type { Connection } from '../connection.js'
import { Heartbeat, PEERS_TAG } from '../heartbeat.js'
import type { RedisSettings } from '../options.js'
import { permissions } from '../permissions.js'
import { redisSettings } from '../settings.js'
import { Watched } from '../watched.js'
import { batching } from './batching.js'
import { Exchange } from './exchange.js'
import { FirstConnection } from './first-connection.js'
import { FirstCount } from './first-count.js'
import { hashTagOf } from './keys.js'
import { Nodes } from './nodes.js'

export interface RedisTransport extends Backend {
  /** Processes that share the limits. */
  readonly peers: () => Peers
  /** Resolves when `peers` have been counted, or cannot be; undefined: that is over. */
  readonly whenCounted: () => Promise<void> | undefined
  /** Of a Cluster: the slots of a target's keys. */
  readonly slotsOf: ((target: Target) => readonly number[]) | undefined
  readonly settings: Settings
  /** Sends gathered requests; those that wait for a connection fail. */
  close(): void
  /** Removes this process from the peers that Redis counts. */
  leave(): Promise<void>
}

export function redisTransport(
  connection: Connection,
  settings: RedisSettings,
  time: Time,
): RedisTransport {
  const { format, deadlineMs, instances, clock, maxInFlight } = settings
  const { prefix } = format
  const nodes = new Nodes(connection, format)
  const first = new FirstConnection(connection, deadlineMs, time)
  const check =
    settings.triesPermissions === false
      ? () => {}
      : permissions(connection, prefix, deadlineMs, time)
  const watched = new Watched(time)
  const heartbeat = new Heartbeat(connection, {
    prefix,
    time,
    failed: (error) => check(error, () => PEERS_TAG),
    watched: (ms) => watched.heard(ms),
  })
  const exchange = new Exchange({
    ...{ connection, first, nodes, time, deadlineMs, maxInFlight },
    // The first reply starts the heartbeat, unless the number of peers was given as an option.
    answered: instances === undefined ? () => heartbeat.start() : () => {},
    failed: (node, error) => check(error, () => hashTagOf(format, nodes.keyOn(node))),
  })
  const count = new FirstCount(connection, heartbeat, time)
  const form = { repliesInText: connection.repliesInText === true }
  const gathered = batching(exchange.send, { format, nodes, time, clock, form })
  return {
    title: 'Redis',
    kind: 'redis',
    recovers: true,
    maxInFlight,
    next: gathered,
    nodes,
    lineTo: ({ name }) => connection.lineTo?.(name),
    unready: () => first.unready(),
    peers: () => instances ?? heartbeat.peers,
    whenCounted: () => (instances === undefined ? count.wait() : undefined),
    slotsOf: connection.isCluster ? (target) => nodes.slotsOf(target) : undefined,
    settings: redisSettings(connection, { format, clock, deadlineMs, time, watched }),
    close() {
      gathered.flush()
      first.close()
      count.close()
    },
    leave: () => heartbeat.stop(),
  }
}
