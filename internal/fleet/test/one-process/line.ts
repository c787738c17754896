// The connection from a store to its Redis, with faults, and what an observer sees of it: each call
// that is sent, each that Redis runs, and each whose reply comes late or never.

import type { Connection, Send } from '../../../../packages/core/src/redis/connection.js'
import { unpackNumbers } from '../../../../packages/core/src/redis/transport/msgpack.js'
import { simulatedConnection } from '../../src/network/connection.js'
import { Machine } from '../../src/redis/machine.js'
import { SimulatedRedis } from '../../src/redis/server.js'
import type { Host } from '../../src/world/host.js'

export const DEADLINE_MS = 100

const USUAL = { leastUs: 100, mostUs: 300 }
/** Two calls in a row exceed the deadline, one does not. */
const SLOW = { leastUs: 60_000, mostUs: 60_000 }

/**
 * - `hang`: calls arrive only when the fault is over, or the client gives up the connection
 * - `mute`: calls arrive, but replies only when the fault is over, likewise
 * - `slow`: a reply takes 60 ms
 * - `refuse`: the connection is lost with all that is on its way, and a client that does not say so
 *   fails calls at once
 * - `reset`: the connection breaks with all that is on its way, and the client makes a new one
 * - `down`: the connection breaks, and there is no new one before the fault is over
 */
export type Fault = 'none' | 'hang' | 'mute' | 'slow' | 'refuse' | 'reset' | 'down'

/** What a call asks of one key. */
interface Part {
  readonly key: string
  /** The units of one grant. */
  readonly units: number
}

interface Call {
  readonly mode: string
  readonly parts: readonly Part[]
  hasRun: boolean
  hasFailed: boolean
}

export interface Observer {
  /** The store sent a call. */
  called(mode: string): void
  /** Redis ran a call, which took this many units of a key. */
  ran(mode: string, key: string, units: number): void
  /** Redis ran a call whose reply comes after the deadline, or never. */
  missed(mode: string, how: 'late' | 'lost'): void
}

/** Reports what it runs. */
class ObservedRedis extends SimulatedRedis {
  ran: (args: readonly string[], reply: unknown) => void = () => {}

  override run(command: string, args: readonly string[]): unknown {
    const reply = super.run(command, args)
    this.ran(args, reply)
    return reply
  }
}

const refusing: Send = () => Promise.reject(new Error('Connection is closed.'))

export interface Line {
  /** The connection for the store. */
  readonly connection: Connection
  /** Calls that have neither been answered nor failed. */
  readonly pending: number
  /** How many calls asked for a reset. */
  readonly resets: number
  /** Ends the current fault, and begins another one. */
  set(fault: Fault): void
}

/** @param width how many numbers a call of the policy's script begins with */
export function lineOf(host: Host, width: number, observer: Observer): Line {
  const { world } = host
  const redis = new ObservedRedis(() => world.nowUs)
  const machine = new Machine(world, 'redis', redis)
  const connection = simulatedConnection(host, machine, USUAL, DEADLINE_MS)
  const { there, back } = connection
  const calls: Map<readonly string[], Call> = new Map()
  let refuses = false
  let pending = 0
  let resets = 0

  redis.ran = (args, reply) => {
    const call = calls.get(args)
    if (call === undefined) return
    calls.delete(args)
    call.hasRun = true
    const numbers = unpackNumbers(reply as Buffer)
    for (const [i, { key, units }] of call.parts.entries())
      observer.ran(call.mode, key, units * (numbers[1 + 4 * i] as number))
    if (call.hasFailed) observer.missed(call.mode, 'lost')
  }

  const observed = (send: Send): Send => {
    return (command, args) => {
      const call = callOf(args, width)
      calls.set(args, call)
      // Not if Redis did not know the script: the call is then sent again with it.
      if (command === 'evalsha') observer.called(call.mode)
      if (call.mode === 'reset') resets += 1
      pending += 1
      const askedMs = host.time.nowMs()
      const replied = send(command, args)
      const answered = (): void => {
        pending -= 1
        const tookMs = host.time.nowMs() - askedMs
        if (tookMs >= DEADLINE_MS) observer.missed(call.mode, 'late')
      }
      const failed = (): void => {
        pending -= 1
        call.hasFailed = true
        if (call.hasRun) observer.missed(call.mode, 'lost')
      }
      replied.then(answered, failed)
      return replied
    }
  }

  return {
    connection: {
      ...connection,
      unready: () => (refuses ? undefined : connection.unready()),
      call: (command, args) => observed(refuses ? refusing : connection.call)(command, args),
      inOneWrite(node, items, ask) {
        if (refuses) for (const item of items) ask(item, observed(refusing))
        else connection.inOneWrite(node, items, (item, send) => ask(item, observed(send)))
      },
    },
    get pending() {
      return pending
    },
    get resets() {
      return resets
    },
    set(fault) {
      there.heal()
      back.heal()
      back.latency = fault === 'slow' ? SLOW : USUAL
      refuses = fault === 'refuse'
      machine.isDown = fault === 'down'
      if (fault === 'hang') there.cut()
      if (fault === 'mute') back.cut()
      if (fault === 'reset' || fault === 'refuse' || fault === 'down') connection.reset()
    },
  }
}

/** The request in a call of the driver for one policy. */
function callOf(args: readonly string[], width: number): Call {
  const keyCount = Number(args[1])
  const keys = args.slice(2, 2 + keyCount)
  const call = { hasRun: false, hasFailed: false }
  if (keys.some((name) => name.includes(':weir:beats:')))
    return { mode: 'probe', parts: [], ...call }
  // The policy's numbers, the time, the mode.
  const [, mode = 'consume', ...rest] = args.slice(2 + keyCount + width)
  const marks = mode === 'refund' || mode === 'restore' || mode === 'reset'
  const names = marks ? keys.filter((_, i) => i % 2 === 0) : keys
  const stride = rest.length / names.length
  const parts = names.map((name, i) => ({
    key: /\{(.*)\}/.exec(name)?.[1] as string,
    // Plain requests have no costs.
    units: stride > 1 ? Number(rest[i * stride + 1]) : 1,
  }))
  return { mode, parts, ...call }
}
