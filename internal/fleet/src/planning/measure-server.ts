// The CPU time of calls on the main thread of a real server: writes of one call and of several,
// calls of one key and of several, allowed and denied, on one connection and on many, at once and
// with rests in between. The keys are in their steady state, in which an old unit expires for each
// unit that is taken.

import { connect, type Socket } from 'node:net'
import { type RedisServer, startRedis } from '@weir/testkit'
import type { ServerCosts } from './inputs.js'
import { PLAIN } from './load.js'
import { recordedCalls } from './recorded.js'
import { statsOf } from './server-stats.js'
import { median, type Observation, partsOf } from './statistics.js'

/** The content of one write, and the number of connections that send it at once. */
interface Shape {
  readonly connections: number
  readonly calls: number
  readonly keys: number
  readonly isAllowed: boolean
  /** The rest between two writes. */
  readonly restMs: number
}

const ONE: Shape = { connections: 1, calls: 1, keys: 1, isAllowed: true, restMs: 0 }
const SHAPES: readonly Shape[] = [
  ...[1, 2, 4, 8, 16, 32].map((keys) => ({ ...ONE, keys })),
  ...[1, 8, 32].map((keys) => ({ ...ONE, keys, isAllowed: false })),
  ...[4, 16].map((calls) => ({ ...ONE, calls })),
  { ...ONE, calls: 4, keys: 16 },
  ...[1, 4, 16].map((keys) => ({ ...ONE, keys, connections: 32 })),
  ...[1, 8].map((keys) => ({ ...ONE, keys, restMs: 2 })),
]
/** Each write is repeated, so its keys are requested several times in a window. */
const WINDOW_MS = 500
const AGAIN_MS = 150
/** Longer than a window. */
const WARM_UP_MS = 600
/** Denied keys stay denied throughout. */
const DENYING_MS = 60_000

export async function measureServer(rounds: number, turnMs: number): Promise<ServerCosts> {
  const redis = await startRedis()
  try {
    const turns: Turn[] = []
    for (const shape of SHAPES) turns.push(await preparedTurn(redis, shape))
    const measured = SHAPES.map((): number[] => [])
    for (let round = 0; round < rounds; round += 1) {
      for (const [i, turn] of turns.entries()) measured[i]?.push(await costOf(redis, turn, turnMs))
    }
    return costsFrom(measured.map(median))
  } finally {
    await redis.stop()
  }
}

/** @param costs the CPU time of a write of each shape */
function costsFrom(costs: readonly number[]): ServerCosts {
  const observations = SHAPES.map((shape, i): Observation => {
    const { connections, calls, keys, isAllowed, restMs } = shape
    const all = calls * keys
    // A server with requests on many connections at once hardly sleeps.
    const wakes = connections === 1 ? 1 : 0
    const counts = [wakes, restMs > 0 ? 1 : 0, 1, calls, all, isAllowed ? all : 0]
    return { counts, cost: costs[i] as number }
  })
  const parts = partsOf(observations)
  const [wakeUs = 0, restedUs = 0, readUs = 0, callUs = 0, keyUs = 0, changeUs = 0] = parts
  return { wakeUs, restedUs, readUs, callUs, keyUs, changeUs }
}

interface Turn extends Shape {
  readonly writes: readonly Buffer[]
}

/** The writes of a shape, for a server that knows the script. */
async function preparedTurn(redis: RedisServer, shape: Shape): Promise<Turn> {
  const { calls, keys, isAllowed } = shape
  const limits = isAllowed
    ? { limit: 1_000_000_000, windowMs: WINDOW_MS }
    : { limit: 1, windowMs: DENYING_MS }
  const workload = { ...PLAIN, ...limits, processes: 1, perSecond: 0, keys: 0 }
  const recorded = await recordedCalls(workload, writesFor(shape) * calls, keys)
  await redis.command('SCRIPT', 'LOAD', recorded.source)
  return { ...shape, writes: writesOf(recorded.calls, calls) }
}

/** About how many writes are sent before the first one is repeated. */
function writesFor({ connections, calls, keys, restMs }: Shape): number {
  const writeUs = (connections === 1 ? 45 : 15) + 5 * calls * keys + 1_100 * restMs
  return Math.max(connections, Math.ceil((AGAIN_MS * 1_000) / writeUs))
}

function writesOf(calls: readonly Buffer[], count: number): Buffer[] {
  const writes: Buffer[] = []
  for (let at = 0; at + count <= calls.length; at += count)
    writes.push(Buffer.concat(calls.slice(at, at + count)))
  return writes
}

/** The CPU time of a write, in microseconds. */
async function costOf(redis: RedisServer, turn: Turn, turnMs: number): Promise<number> {
  const { connections } = turn
  const lines = await Promise.all(Array.from({ length: connections }, () => openLine(redis.port)))
  try {
    await keepSending(lines, turn, WARM_UP_MS)
    const before = await statsOf(redis)
    const sent = await keepSending(lines, turn, turnMs)
    return ((await statsOf(redis)).cpuUs - before.cpuUs) / sent
  } finally {
    for (const { socket } of lines) socket.destroy()
  }
}

/** Returns the number of writes sent. */
async function keepSending(
  lines: readonly Line[],
  { calls, restMs, writes }: Turn,
  forMs: number,
): Promise<number> {
  let sent = 0
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    const asked = lines.map((line) => {
      const write = writes[sent % writes.length] as Buffer
      sent += 1
      return line.ask(write, calls)
    })
    await Promise.all(asked)
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
  }
  return sent
}

interface Line {
  readonly socket: Socket
  /** Sends a write, and waits for this many replies. */
  ask(write: Buffer, replies: number): Promise<void>
}

function openLine(port: number): Promise<Line> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let missing = 0
  /** The bytes of a reply that have not arrived yet. */
  let rest = 0
  let done = (): void => {}
  socket.on('data', (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (rest > 0) {
        const read = Math.min(rest, chunk.length - at)
        rest -= read
        at += read
        if (rest === 0) missing -= 1
        continue
      }
      const end = chunk.indexOf('\r\n', at)
      if (chunk[at] !== 0x24 || end < 0) throw new Error(`no bulk string: ${chunk.subarray(at)}`)
      rest = Number(chunk.toString('latin1', at + 1, end)) + 2
      at = end + 2
    }
    if (missing === 0) done()
  })
  const line: Line = {
    socket,
    ask: (write, replies) =>
      new Promise((resolve) => {
        missing = replies
        done = resolve
        socket.write(write)
      }),
  }
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(line))
    socket.once('error', reject)
  })
}
