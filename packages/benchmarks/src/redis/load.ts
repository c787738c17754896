// Requests that keep a limiter busy, and what they cost on both sides.

import type { RedisServer } from '@weir/testkit'
import type { Turn } from '../rounds.js'

/** How often the time is looked at: it costs a twentieth of a microsecond. */
const LOOK_EVERY = 64

/** Keeps `inFlight` requests going for a while, each asked when the one before it is answered. */
export async function keepAsking(
  ask: (key: string) => Promise<unknown>,
  nextKey: () => string,
  inFlight: number,
  forMs: number,
): Promise<number> {
  const end = performance.now() + forMs
  let decisions = 0
  let over = false
  async function caller(): Promise<void> {
    while (!over) {
      await ask(nextKey())
      decisions += 1
      if (decisions % LOOK_EVERY === 0 && performance.now() >= end) over = true
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  return decisions
}

export interface Cost extends Turn {
  readonly decisions: number
  /** Decisions in a second. */
  readonly rate: number
  /** CPU of this process, and of the main thread of Redis, in microseconds for each decision. */
  readonly clientUs: number
  readonly redisUs: number
}

export async function costOf(server: RedisServer, work: () => Promise<number>): Promise<Cost> {
  const redisBefore = await redisCpuUs(server)
  const clientBefore = process.cpuUsage()
  const started = performance.now()
  const decisions = await work()
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(clientBefore)
  const redisUs = (await redisCpuUs(server)) - redisBefore
  return {
    decisions,
    rate: (decisions / ms) * 1_000,
    clientUs: (user + system) / decisions,
    redisUs: redisUs / decisions,
  }
}

async function redisCpuUs(server: RedisServer): Promise<number> {
  const info = String(await server.command('INFO', 'cpu'))
  let seconds = 0
  // Where a server does not tell threads apart (Redis 6.0), the whole process.
  const fields = [...info.matchAll(/used_cpu_(?:sys|user)_main_thread:([\d.]+)/g)]
  const told = fields.length > 0 ? fields : [...info.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)]
  for (const [, value] of told) seconds += Number(value)
  return seconds * 1e6
}
