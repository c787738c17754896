// Redis as the layer that may fail. Batching gathers requests into calls; the dispatcher here sends
// them to the nodes, and hands out the replies.

import type { Time } from '../../base/time.js'
import type { Backend } from '../../layers/resilience/backend.js'
import type { Peers } from '../../layers/resilience/peers.js'
import type { Settings } from '../../settings.js'
import type { Target } from '../../store.js'
import type { RedisLike, Send } from '../clients/redis-like.js'
import { connectionOf, SILENCE_MS } from '../clients/ioredis.js'
import { permissions } from '../permissions.js'
import { Heartbeat, PEERS_TAG } from '../heartbeat.js'
import type { RedisSettings } from '../options.js'
import { redisSettings } from '../settings.js'
import { batching } from './batching.js'
import { answer, argumentsOf, type Call, fail, numbersOf, withSource } from './call.js'
import { hashTagOf } from './keys.js'
import { Nodes, type RedisNode } from './nodes.js'

/**
 * Calls in a write to a single server, at the most: it begins with these while the others are made.
 * All in one write would save 13 % more CPU, at 40 % less throughput. The nodes of a Cluster work
 * beside each other, so there all calls to one leave together.
 */
const MAX_CALLS = 32

export interface RedisTransport extends Backend {
  /** Processes that share the limits. */
  readonly peers: () => Peers
  /** Of a Cluster: the slots of a target's keys. */
  readonly slotsOf: ((target: Target) => readonly number[]) | undefined
  readonly settings: Settings
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
  const silenceMs = Math.max(SILENCE_MS, deadlineMs)
  const connection = connectionOf(client, { deadlineMs, silenceMs, time })
  const nodes = new Nodes(connection, format)
  const gathered = batching(dispatch, { format, nodes, time, clock })
  const check = permissions(connection, prefix, deadlineMs, time)
  const failed = (error: unknown) => check(error, () => PEERS_TAG)
  /** How far the server's clock is ahead of `nowMs`: by this process's until it has answered. */
  let aheadUs = time.nowUs() - time.nowMs() * 1_000
  const heartbeat = new Heartbeat(connection, { prefix, time, failed })

  /** Sends calls, those to one node in one write. */
  function dispatch(calls: readonly Call[]): void {
    const connecting = connection.isStarted ? undefined : connection.connecting()
    if (connecting !== undefined) {
      // Their nodes are known only once the client is connected.
      connecting.then(
        () => dispatch(calls),
        (error) => {
          for (const call of calls) fail(call, error)
        },
      )
      return
    }
    const writes = calls.length === 1 ? [calls] : writesOf(calls)
    for (const write of writes) {
      const node = nodes.ofSlot((write[0] as Call).slot)
      const { entries } = write[0] as Call
      const isLone = entries.length === 1 && entries[0]?.others.length === 0
      node.wasLone = isLone && write.length === 1 && node.inFlight === 0
      for (const call of write) call.node = node
      connection.inOneWrite(node.name, write, ask)
    }
  }

  /** The calls to each node, in the order in which they came. */
  function writesOf(calls: readonly Call[]): Iterable<readonly Call[]> {
    const byNode = new Map<RedisNode, Call[]>()
    const full: Call[][] = []
    for (const call of calls) {
      const node = nodes.ofSlot(call.slot)
      const some = byNode.get(node)
      if (some === undefined) byNode.set(node, [call])
      else if (some.push(call) === MAX_CALLS && !connection.isCluster) {
        full.push(some)
        byNode.delete(node)
      }
    }
    return [...full, ...byNode.values()]
  }

  function ask(call: Call, send: Send): void {
    const node = call.node as RedisNode
    if (node.inFlight >= maxInFlight) {
      node.calls.notSent += call.entries.length
      fail(call, new Error(`${node.inFlight} calls are in flight already`))
      return
    }
    node.inFlight += 1
    exchange(call, send)
  }

  function exchange(call: Call, send: Send): void {
    const { prepared, isSecond } = call
    call.sentAtMs = time.nowMs()
    if (prepared.hasPeriods && isSecond !== true)
      call.periodUs = Math.floor(call.sentAtMs * 1_000 + aheadUs)
    try {
      const args = argumentsOf(call)
      call.args = args
      send('evalsha', args).then(
        (packed) => answered(call, packed),
        (error) => {
          // The server does not know the script, so nothing has run yet.
          if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) {
            refused(call, error)
            return
          }
          connection.call('eval', withSource(call)).then(
            (packed) => answered(call, packed),
            (failure) => refused(call, failure),
          )
        },
      )
    } catch (error) {
      // A client of a user's.
      refused(call, error)
    }
  }

  function answered(call: Call, packed: unknown): void {
    let numbers: readonly number[]
    try {
      numbers = numbersOf(call, packed)
    } catch (error) {
      refused(call, error)
      return
    }
    if (call.prepared.hasPeriods) {
      const [nowUs] = numbers as [number]
      aheadUs = nowUs - time.nowMs() * 1_000
      if (numbers.length === 1) {
        askAgain(call, nowUs)
        return
      }
    }
    const node = call.node as RedisNode
    node.inFlight -= 1
    node.calls.ended(node.name, time.nowMs() - call.sentAtMs, deadlineMs, call.entries.length)
    const foreign = answer(call, numbers)
    if (foreign !== undefined) noted(node, foreign)
    // The first reply starts it, unless the number of peers was given as an option.
    if (instances === undefined) heartbeat.start()
  }

  /** The server is in other calendar periods than those it was given. */
  function askAgain(call: Call, nowUs: number): void {
    if (call.isSecond) {
      refused(call, new Error('the clock of the server left a calendar period twice in a call'))
      return
    }
    call.isSecond = true
    call.periodUs = nowUs
    exchange(call, connection.call)
  }

  function refused(call: Call, error: unknown): void {
    const node = call.node as RedisNode
    node.inFlight -= 1
    const tookMs = time.nowMs() - call.sentAtMs
    const why = error ?? new Error('the client gave no reason')
    node.calls.ended(node.name, tookMs, deadlineMs, call.entries.length, why)
    if (mustSplit(error) && call.entries.length > 1) {
      dispatch(call.entries.map((entry) => ({ ...call, entries: [entry] })))
      return
    }
    noted(node, error)
    fail(call, error)
  }

  function noted(node: RedisNode, error: unknown): void {
    check(error, () => hashTagOf(format, nodes.keyOn(node)))
  }

  return {
    title: 'Redis',
    kind: 'redis',
    recovers: true,
    maxInFlight,
    next: gathered,
    nodes,
    unready: connection.unready,
    peers: () => instances ?? heartbeat.peers,
    slotsOf: connection.isCluster ? (target) => nodes.slotsOf(target) : undefined,
    settings: redisSettings(connection, { format, clock, deadlineMs, time }),
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
