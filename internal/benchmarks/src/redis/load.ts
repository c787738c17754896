// Single requests, and requests that keep a limiter busy, and what they cost on both sides.

import { checkCount } from '../exactness.js'
import type { Turn } from '../rounds.js'
import { quantile } from '../statistics.js'
import { randomOrder } from './keys.js'
import type { Opened, Server } from './stage.js'
import { LIMIT } from './subject.js'

export const IN_FLIGHT = 64
/** The time is read once for this many requests, since it costs a twentieth of a microsecond. */
const LOOK_EVERY = 64

export interface Keys {
  nameOf(place: number): string
  /** Indexes of keys in the order of the requests, which starts again at its end. */
  readonly order: Uint32Array
}

export function hotKey(prefix: string): Keys {
  const name = `${prefix}-hot`
  return { nameOf: () => name, order: new Uint32Array(1) }
}

/**
 * Makes names on demand, as in a service. V8 would copy 100,000 names that exist at the beginning
 * of a turn in its first milliseconds.
 */
export function distinctKeys(count: number): (prefix: string) => Keys {
  const order = randomOrder(count)
  const ends = Array.from({ length: count }, (_, i) => `-${String(i).padStart(8, '0')}`)
  return (prefix) => ({ nameOf: (place) => `${prefix}${ends[place]}`, order })
}

/**
 * One turn of one subject on an empty Redis: measures what a decision costs, and checks its count.
 */
export async function loadTurn(
  server: Server,
  { name, subject }: Opened,
  { nameOf, order }: Keys,
  forMs: number,
): Promise<Turn> {
  await server.command('FLUSHDB')
  let step = 0
  const nextKey = (): string => {
    const place = order[step % order.length] as number
    step += 1
    return nameOf(place)
  }
  const { decisions, ...cost } = await costOf(server, () => keepAsking(subject.ask, nextKey, forMs))
  let ofFirst = 0
  for (let i = 0; i < decisions; i += 1) if (order[i % order.length] === order[0]) ofFirst += 1
  await checkCount(name, subject, nameOf(order[0] as number), ofFirst, LIMIT)
  return cost
}

/** The same with one request in flight, for the first of the keys, with the time of each
 *  request. */
export async function aloneTurn(
  server: Server,
  { name, subject }: Opened,
  { nameOf }: Keys,
  forMs: number,
): Promise<Turn> {
  const key = nameOf(0)
  await server.command('FLUSHDB')
  const times: number[] = []
  const { decisions, clientUs, redisUs } = await costOf(server, async () => {
    let now = performance.now()
    const end = now + forMs
    // At least once, however late this process runs.
    do {
      await subject.ask(key)
      const after = performance.now()
      times.push((after - now) * 1_000)
      now = after
    } while (now < end)
    return times.length
  })
  await checkCount(name, subject, key, decisions, LIMIT)
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), clientUs, redisUs }
}

/** Keeps requests in flight for a while: each answer is followed by another request. */
async function keepAsking(
  ask: (key: string) => Promise<unknown>,
  nextKey: () => string,
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
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
  return decisions
}

interface Cost extends Turn {
  readonly decisions: number
  /** Decisions per second. */
  readonly rate: number
  /** The CPU times of this process and of the server's main thread, in us per decision. */
  readonly clientUs: number
  readonly redisUs: number
}

async function costOf(server: Server, work: () => Promise<number>): Promise<Cost> {
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

async function redisCpuUs(server: Server): Promise<number> {
  const info = String(await server.command('INFO', 'cpu'))
  // The whole process if a server does not report threads (Redis 6.0).
  const fields = [...info.matchAll(/used_cpu_(?:sys|user)_main_thread:([\d.]+)/g)]
  const told = fields.length > 0 ? fields : [...info.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)]
  return told.reduce((sum, [, seconds]) => sum + Number(seconds) * 1e6, 0)
}
