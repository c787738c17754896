// Redis as the layer that may fail. Batching gathers requests into calls; the dispatcher here sends
// them to the nodes, and hands out the replies.

import type { Time } from '../../base/time.js'
import type { Backend } from '../../layers/resilience/backend.js'
import type { Peers } from '../../layers/resilience/peers.js'
import type { Target } from '../../store.js'
import { connectionOf, type RedisLike } from '../client/client.js'
import { permissions } from '../client/permissions.js'
import { Heartbeat, PEERS_TAG } from '../heartbeat.js'
import type { RedisSettings } from '../options.js'
import { batching } from './batching.js'
import { answer, type Call, evaluate, fail } from './call.js'
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
  const connection = connectionOf(client, deadlineMs, time)
  const gathered = batching(dispatch, { format, nodes, time, clock })
  const check = permissions(client, prefix, deadlineMs, time)
  const failed = (error: unknown) => check(error, () => PEERS_TAG)
  const heartbeat = new Heartbeat(client, { prefix, time, failed })

  function dispatch(call: Call): void {
    const connecting = connection.connecting()
    if (connecting !== undefined) {
      // Its node is known only once the client is connected.
      connecting.then(
        () => dispatch(call),
        (error) => fail(call, error),
      )
      return
    }
    const node = nodes.ofSlot(call.slot)
    if (node.inFlight >= maxInFlight) {
      fail(call, new Error(`${node.inFlight} calls are in flight already`))
      return
    }
    const noted = (error: unknown) => check(error, () => hashTagOf(format, nodes.keyOn(node)))
    const sentAtMs = time.nowMs()
    node.inFlight += 1
    evaluate(client, call).then(
      (reply) => {
        node.inFlight -= 1
        const foreign = answer(call, reply, sentAtMs)
        if (foreign !== undefined) noted(foreign)
        // The first reply starts it, unless the number of peers was given as an option.
        if (instances === undefined) heartbeat.start()
      },
      (error) => {
        node.inFlight -= 1
        if (mustSplit(error) && call.entries.length > 1) {
          for (const entry of call.entries) dispatch({ ...call, entries: [entry] })
          return
        }
        noted(error)
        fail(call, error)
      },
    )
  }

  return {
    title: 'Redis',
    recovers: true,
    maxInFlight,
    next: gathered,
    nodes,
    unready: connection.unready,
    peers: () => instances ?? heartbeat.peers,
    slotsOf: client.isCluster === true ? (target) => nodes.slotsOf(target) : undefined,
    close() {
      gathered.flush()
      connection.close()
    },
    leave: () => heartbeat.stop(),
  }
}

/**
 * Nothing ran, because keys of the call are on their way to another node; one by one they can be
 * decided. ioredis tries again by itself, and says in the end that there were too many
 * redirections.
 */
function mustSplit(error: unknown): boolean {
  return error instanceof Error && /^(TRYAGAIN|Too many Cluster redirections)/.test(error.message)
}
