// A simulated client: a Connection (packages/core/src/redis/connection.ts) to a simulated machine.
// It behaves as an ioredis client with Weir's recommended options: it queues nothing, resends
// nothing, and reconnects after a while. test/connection.test.ts compares it with a real one.

import { silenceWatch } from '../../../../packages/core/src/redis/clients/ioredis/silence.js'
import type { Connection, Send } from '../../../../packages/core/src/redis/connection.js'
import type { Machine } from '../redis/machine.js'
import type { Host } from '../world/host.js'
import { Link } from './link.js'
import { type Direction, type Latency, Way } from './wire.js'

/** From the recommended options. */
const BACK_OFF_US = 50_000
const LONGEST_BACK_OFF_US = 1_000_000

export interface SimulatedConnection extends Connection {
  /** The network in both directions. */
  readonly there: Direction
  readonly back: Direction
  /** Breaks the connection, as a reset by the peer does; the client reconnects.
   *  @param node in a Cluster: only the connection to this node */
  reset(node?: string): void
}

/** How long a client waits before it reconnects. */
export function backOffUs({ random }: Host, failures: number): number {
  const us = Math.min(BACK_OFF_US * 2 ** Math.min(failures, 10), LONGEST_BACK_OFF_US)
  return us * (0.5 + random.next() / 2)
}

export function simulatedConnection(
  host: Host,
  machine: Machine,
  latency: Latency,
  deadlineMs: number,
): SimulatedConnection {
  const there = new Way(host.world, host.random.fork(), latency)
  const back = new Way(host.world, host.random.fork(), latency)
  let failures = 0
  let link: Link
  let isWaiting = false
  let attempt: Promise<void> | undefined
  let endAttempt = (): void => {}
  const watch = silenceWatch(deadlineMs, host.time)
  const node = {
    get stream() {
      return link.stream
    },
  }

  function begin(): void {
    isWaiting = false
    attempt = new Promise((resolve) => {
      endAttempt = resolve
    })
    link = new Link({ host, machine, there, back, latency, ready: () => ready(), ended: again })
    link.connect()
  }

  function attempted(): void {
    attempt = undefined
    endAttempt()
  }

  function ready(): void {
    failures = 0
    attempted()
  }

  function again(): void {
    attempted()
    isWaiting = true
    failures += 1
    host.run(backOffUs(host, failures), begin)
  }

  const isReady = (): boolean => link.status === 'ready'
  const send: Send = (command, args) => {
    if (isReady()) return link.send(command, args)
    return Promise.reject(new Error("Stream isn't writeable and enableOfflineQueue is false"))
  }

  begin()
  return {
    place: [machine.name],
    isCluster: false,
    keyPrefix: '',
    database: 0,
    nodeOf: () => undefined,
    call(command, args) {
      if (isReady()) watch(node)
      return send(command, args)
    },
    inOneWrite(_node, items, ask) {
      if (isReady()) watch(node)
      for (const item of items) ask(item, send)
    },
    lineTo: () => link,
    unready() {
      if (isReady()) return undefined
      return `the client is ${isWaiting ? 'reconnecting' : 'connecting'}`
    },
    attempt: () => attempt,
    there,
    back,
    reset: () => link.end('read ECONNRESET'),
  }
}
