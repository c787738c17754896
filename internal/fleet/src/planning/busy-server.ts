// A Redis server whose work takes time. Like the real one, it reads everything that has arrived,
// runs it, and then writes the replies, one write for each connection.

import type { SimulatedRedis } from '../redis/server.js'
import type { World } from '../world/world.js'
import type { ServerCosts } from './inputs.js'

/** After a rest of this length, the server is as slow as if it had never run. */
const REST_US = 1_000

export interface Command {
  readonly command: string
  readonly args: readonly string[]
}

export type Reply = { readonly value: unknown } | { readonly error: Error }

/** Takes the replies to all commands of a connection that were read at once. */
export type Reader = (replies: readonly Reply[]) => void

/** What the server has done since it began. */
export interface Served {
  readonly busyUs: number
  readonly calls: number
  readonly bytesIn: number
  readonly bytesOut: number
}

export class BusyServer {
  readonly name: string
  readonly #world: World
  readonly #redis: SimulatedRedis
  readonly #costs: ServerCosts
  #come = new Map<Reader, Command[]>()
  #isBusy = false
  /** When the work that it has begun is done, in lived time, with a fraction. */
  #freeUs = 0
  #served = { busyUs: 0, calls: 0, bytesIn: 0, bytesOut: 0 }

  constructor(world: World, name: string, redis: SimulatedRedis, costs: ServerCosts) {
    this.#world = world
    this.name = name
    this.#redis = redis
    this.#costs = costs
  }

  get served(): Served {
    // The rest of the work that it has begun.
    const aheadUs = Math.max(0, this.#freeUs - this.#world.livedUs)
    return { ...this.#served, busyUs: this.#served.busyUs - aheadUs }
  }

  /** A write has arrived. */
  receive(commands: readonly Command[], reader: Reader): void {
    const before = this.#come.get(reader)
    if (before === undefined) this.#come.set(reader, [...commands])
    else before.push(...commands)
    if (this.#isBusy) return
    this.#isBusy = true
    const { wakeUs, restedUs } = this.#costs
    const rest = Math.min(1, (this.#world.livedUs - this.#freeUs) / REST_US)
    this.#freeUs = this.#world.livedUs
    this.#serve(wakeUs + rest * restedUs)
  }

  /** Serves everything that has arrived. */
  #serve(wakeUs: number): void {
    const come = this.#come
    this.#come = new Map()
    let us = wakeUs
    const replies = new Map<Reader, Reply[]>()
    for (const [reader, commands] of come) {
      us += this.#costs.readUs
      const own = commands.map((command) => {
        const changes = this.#redis.keyspace.changes
        const reply = this.#run(command)
        const changed = this.#redis.keyspace.changes - changes
        us += this.#note(command, reply, changed)
        return reply
      })
      replies.set(reader, own)
    }
    this.#served.busyUs += us
    this.#freeUs += us
    this.#world.after(this.#freeUs - this.#world.livedUs, () => {
      for (const [reader, own] of replies) reader(own)
      this.#isBusy = this.#come.size > 0
      if (this.#isBusy) this.#serve(0)
    })
  }

  #run({ command, args }: Command): Reply {
    try {
      return { value: this.#redis.run(command, args) }
    } catch (error) {
      return { error: error as Error }
    }
  }

  /** Counts a command. Returns the time that it took, in microseconds. */
  #note(command: Command, reply: Reply, changed: number): number {
    const { callUs, keyUs, changeUs } = this.#costs
    const keys = Number(command.args[1])
    const served = this.#served
    served.calls += 1
    served.bytesIn += bytesOfCommand(command)
    served.bytesOut += bytesOfReply(reply)
    return callUs + keyUs * keys + changeUs * changed
  }
}

/** The size of a command in RESP
 *  (https://redis.io/docs/latest/develop/reference/protocol-spec/). */
function bytesOfCommand({ command, args }: Command): number {
  let bytes = bytesOfHead(args.length + 1) + bytesOfBulk(command.length)
  for (const arg of args) bytes += bytesOfBulk(Buffer.byteLength(arg))
  return bytes
}

function bytesOfReply(reply: Reply): number {
  if ('error' in reply) return reply.error.message.length + 3
  const { value } = reply
  if (value instanceof Buffer) return bytesOfBulk(value.length)
  throw new TypeError('the planning simulation knows no other replies than bulk strings')
}

function bytesOfBulk(length: number): number {
  return bytesOfHead(length) + length + 2
}

function bytesOfHead(length: number): number {
  return String(length).length + 3
}
