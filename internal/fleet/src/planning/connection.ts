// A connection that never fails, to a single server or to the masters of a Cluster. Commands that
// the transport hands over together are one write, which arrives whole. The work of both sides
// takes time.
//
// The simulated Cluster is a set of independent servers, each with its part of the slots, as a
// client with an up-to-date slot table sees it: no redirections, and no traffic between the
// servers.

import type { Connection, Send } from '../../../../packages/core/src/redis/connection.js'
import { SLOTS, slotOf } from '../../../../packages/core/src/redis/transport/hash-slot.js'
import type { World } from '../world/world.js'
import type { BusyServer, Command, Reply } from './busy-server.js'
import type { EventLoop } from './event-loop.js'
import type { ClientCosts } from './inputs.js'

/** By how much the time of a message may differ from its mean. */
const SPREAD = 0.2

export interface Network {
  readonly world: World
  readonly servers: readonly BusyServer[]
  readonly costs: ClientCosts
  /** The mean time of a message. */
  readonly wayUs: number
}

export function plannedConnection(loop: EventLoop, network: Network): Connection {
  const { servers } = network
  const lines = new Map(servers.map((server) => [server.name, lineTo(server, loop, network)]))
  const nameOf = (slot: number): string =>
    (servers[Math.floor((slot * servers.length) / SLOTS)] as BusyServer).name
  const lineOf = (name: string): Line => lines.get(name) as Line

  return {
    place: servers.map(({ name }) => name),
    isCluster: servers.length > 1,
    keyPrefix: '',
    database: 0,
    nodeOf: nameOf,
    call(command, args) {
      const line = lineOf(nameOf(servers.length > 1 ? slotOf(hashTagIn(args[2] as string)) : 0))
      return line.inOneWrite((send) => send(command, args))
    },
    inOneWrite(node, items, ask) {
      const line = lineOf(servers.length > 1 ? node : nameOf(0))
      line.inOneWrite((send) => {
        for (const item of items) ask(item, send)
      })
    },
    unready: () => undefined,
    attempt: () => undefined,
  }
}

function hashTagIn(key: string): string {
  return key.slice(key.indexOf('{') + 1, key.indexOf('}'))
}

interface Line {
  /** Sends the commands of `write` in one write. */
  inOneWrite<Result>(write: (send: Send) => Result): Result
}

interface Waiting extends Command {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

function lineTo(server: BusyServer, loop: EventLoop, { world, costs, wayUs }: Network): Line {
  const waiting: Waiting[] = []
  const there = way()
  const back = way()

  /** Delivers in one direction, in order. */
  function way(): (fromUs: number, deliver: () => void) => void {
    let lastUs = 0
    return (fromUs, deliver) => {
      const tookUs = wayUs * (1 + SPREAD * (2 * loop.random.next() - 1))
      lastUs = Math.max(lastUs, fromUs + tookUs)
      world.after(lastUs - world.livedUs, deliver)
    }
  }

  /** Spends half of the CPU time of commands: once for sending them, once for the replies. */
  function spendHalf(commands: readonly Command[]): void {
    let us = costs.writeUs
    for (const { args } of commands) us += costs.callUs + costs.keyUs * Number(args[1])
    loop.spend(us / 2)
  }

  function answered(replies: readonly Reply[]): void {
    const first = waiting.splice(0, replies.length)
    spendHalf(first)
    replies.forEach((reply, i) => {
      const { resolve, reject } = first[i] as Waiting
      if ('error' in reply) reject(reply.error)
      else resolve(reply.value)
    })
  }

  const reader = (replies: readonly Reply[]): void =>
    back(world.livedUs, () => loop.receive(() => answered(replies)))

  return {
    inOneWrite(write) {
      const commands: Command[] = []
      const result = write(
        (command, args) =>
          new Promise((resolve, reject) => {
            commands.push({ command, args })
            waiting.push({ command, args, resolve, reject })
          }),
      )
      if (commands.length > 0) {
        spendHalf(commands)
        there(loop.livedUs, () => server.receive(commands, reader))
      }
      return result
    },
  }
}
