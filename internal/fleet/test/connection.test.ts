// The simulated connection keeps the same contract as the connections of ioredis 5 and 6.
//
// connection-contract.ts has what holds for both. The simulation cannot show these parts of
// ioredis:
//
// - Sentinel, and replicas. (For a Cluster see cluster-connection.test.ts.)
// - bytes: RESP, its parser, the cost of reading a reply, keyPrefix, replies that come in pieces.
//   A message is one command, and arrives whole
// - one write: commands of `inOneWrite` travel one by one, each with its own delay
// - TLS, AUTH, SELECT, and what else a client sends when it connects: the greeting is one round
//   trip, and is never refused
// - a lazy client (`lazyConnect`), one that is disconnected for good ('end'), and options other
//   than the recommended ones, such as auto pipelining
// - READONLY, LOADING, OOM and all other refusals except NOSCRIPT and an unknown command
// - a kernel that accepts connections for a stopped server: a simulated attempt to connect to one
//   ends after `connectTimeout`, 500 ms; one of ioredis lasts until Weir takes it to be silent
// - the texts of errors
// - the event loop: in which turn a reply is read, and that a break is noticed in a later turn
// - an orderly end: a simulated break loses messages on their way, in both directions
//
// Here, ioredis has a clock that the tests move, so no test waits for a silence; its sockets,
// timers and servers are real.

import { freePort, type RedisServer, startRedis } from '@weir/testkit'
import { Redis } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { afterAll, beforeAll } from 'vitest'
import type { RedisLike } from '../../../packages/core/src/redis/clients/ioredis/redis-like.js'
import { ioredisConnection } from '../../../packages/core/src/redis/clients/ioredis.js'
import { patientOptions } from '../../../packages/core/test/redis/patient.js'
import { simulatedConnection } from '../src/network/connection.js'
import { Machine } from '../src/redis/machine.js'
import { SimulatedRedis } from '../src/redis/server.js'
import { Host } from '../src/world/host.js'
import { World } from '../src/world/world.js'
import { connectionContract, type ServerSubject } from './connection-contract.js'
import { inRealTime, inVirtualTime, LATENCY, MINUTE_US, type Open } from './contract-subject.js'

/** Longer than any silence that a test lets pass. */
const HELD_US = MINUTE_US / 2

const openSimulated: Open<ServerSubject> = async ({ deadlineMs, isDown = false }) => {
  const world = new World(1)
  const machine = new Machine(
    world,
    isDown ? 'down' : 'redis',
    new SimulatedRedis(() => world.nowUs),
  )
  machine.isDown = isDown
  const host = new Host(world, 'p0')
  const connection = simulatedConnection(host, machine, LATENCY, deadlineMs)
  let heldUntilUs = 0
  return {
    ...inVirtualTime(world),
    connection,
    holdUp() {
      heldUntilUs = world.nowUs + HELD_US
      machine.freeze(HELD_US)
    },
    release: () => world.runUntil(heldUntilUs, () => false),
    breakConnection: async () => connection.reset(),
  }
}

connectionContract('a simulated connection', openSimulated)

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

/** What the tests themselves call on a client. */
interface Client extends RedisLike {
  readonly stream: { destroy(error: Error): void }
  on(event: 'error' | 'close', listener: () => void): unknown
  disconnect(): void
}

const openWith =
  (make: (port: number) => Client): Open<ServerSubject> =>
  async ({ deadlineMs, isDown = false }) => {
    if (!isDown) {
      await server.command('FLUSHALL')
      await server.command('SCRIPT', 'FLUSH')
    }
    const client = make(isDown ? await freePort() : server.port)
    client.on('error', () => {})
    const { time, ...subject } = inRealTime()
    return {
      ...subject,
      connection: ioredisConnection(client, { deadlineMs, time }),
      holdUp: () => server.kill('SIGSTOP'),
      release: async () => server.kill('SIGCONT'),
      breakConnection() {
        const noticed = new Promise<void>((resolve) => {
          client.on('close', resolve)
        })
        client.stream.destroy(new Error('broken by a test'))
        return noticed
      },
      close() {
        server.kill('SIGCONT')
        client.disconnect()
      },
    }
  }

const six = (port: number) => new Redis(port, patientOptions)
const five = (port: number) => new Redis5(port, patientOptions)
connectionContract('a connection of ioredis 6', openWith(six))
connectionContract('a connection of ioredis 5', openWith(five))
