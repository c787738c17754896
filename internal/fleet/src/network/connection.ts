// A simulated client: a Connection (packages/core/src/redis/connection.ts) to a simulated machine,
// with the behaviour of an ioredis client that has Weir's recommended options: it queues nothing,
// sends nothing again, and connects again after a while. test/connection.test.ts holds it to one.

import { silenceWatch } from '../../../../packages/core/src/redis/clients/ioredis/silence.js'
import type { Connection, Send } from '../../../../packages/core/src/redis/connection.js'
import type { Host } from '../world/host.js'
import type { Machine, Reply } from './machine.js'
import { type Latency, Way } from './wire.js'

/** As the recommended options have it. */
const CONNECT_TIMEOUT_US = 500_000
const BACK_OFF_US = 50_000
const LONGEST_BACK_OFF_US = 1_000_000

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

export interface SimulatedConnection extends Connection {
  /** Both ways. */
  readonly there: Way
  readonly back: Way
  /** Breaks it, as a reset by the peer does; the client connects again. */
  reset(): void
}

export function simulatedConnection(
  host: Host,
  machine: Machine,
  latency: Latency,
  deadlineMs: number,
): SimulatedConnection {
  const there = new Way(host.world, host.random.fork(), latency)
  const back = new Way(host.world, host.random.fork(), latency)
  let status: 'connecting' | 'ready' | 'reconnecting' = 'connecting'
  let waiting: Waiting[] = []
  let failures = 0
  /** Counts connections, so that what belongs to an earlier one is ignored. */
  let generation = 0
  let attempt: Promise<void> | undefined
  let endAttempt = (): void => {}
  const watch = silenceWatch(deadlineMs, host.time)
  let stream = streamOf()
  const node = {
    get stream() {
      return stream
    },
  }

  function streamOf() {
    const own = generation
    return {
      bytesRead: 0,
      destroy: (error: Error) => {
        if (own === generation) lose(error.message)
      },
    }
  }

  function begin(): void {
    status = 'connecting'
    const own = generation
    attempt = new Promise((resolve) => {
      endAttempt = resolve
    })
    const isCurrent = (): boolean => own === generation && status === 'connecting'
    const tooLate = host.run(CONNECT_TIMEOUT_US, () => {
      if (isCurrent()) lose('connect ETIMEDOUT')
    })
    if (machine.isDown) {
      host.run(latency.mostUs, () => {
        tooLate()
        if (isCurrent()) lose('connect ECONNREFUSED')
      })
      return
    }
    // The handshake and what a client asks before it is ready, as one round trip.
    there.send(() =>
      machine.serve(host.name, 'hello', [], () =>
        back.send(() =>
          host.run(0, () => {
            if (!isCurrent()) return
            tooLate()
            status = 'ready'
            failures = 0
            attempt = undefined
            endAttempt()
          }),
        ),
      ),
    )
  }

  function lose(why: string): void {
    generation += 1
    there.drop()
    back.drop()
    stream = streamOf()
    status = 'reconnecting'
    attempt = undefined
    endAttempt()
    const lost = waiting
    waiting = []
    const error = new Error(`Connection is closed: ${why}`)
    for (const { reject } of lost) reject(error)
    failures += 1
    const us = Math.min(BACK_OFF_US * 2 ** Math.min(failures, 10), LONGEST_BACK_OFF_US)
    host.run(us * (0.5 + host.random.next() / 2), begin)
  }

  function answered(reply: Reply): void {
    stream.bytesRead += 1
    const first = waiting.shift()
    if ('error' in reply) first?.reject(reply.error)
    else first?.resolve(reply.value)
  }

  const send: Send = (command, args) => {
    if (status !== 'ready')
      return Promise.reject(new Error("Stream isn't writeable and enableOfflineQueue is false"))
    const own = generation
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
      there.send(() =>
        machine.serve(host.name, command, args, (reply) => {
          if (own !== generation) return
          back.send(() =>
            host.run(0, () => {
              if (own === generation) answered(reply)
            }),
          )
        }),
      )
    })
  }

  begin()
  return {
    place: [machine.name],
    isCluster: false,
    keyPrefix: '',
    database: 0,
    nodeOf: () => undefined,
    call(command, args) {
      if (status === 'ready') watch(node)
      return send(command, args)
    },
    inOneWrite(_node, items, ask) {
      if (status === 'ready') watch(node)
      for (const item of items) ask(item, send)
    },
    unready: () => (status === 'ready' ? undefined : `the client is ${status}`),
    attempt: () => attempt,
    there,
    back,
    reset() {
      if (status !== 'reconnecting') lose('read ECONNRESET')
    },
  }
}
