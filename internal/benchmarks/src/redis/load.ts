// Requests that keep a limiter busy, and what they cost on both sides.

import type { RedisServer } from '@weir/testkit'
import { checkCount } from '../exactness.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale } from '../scenario.js'
import type { Row, Samples } from '../table.js'
import { calmly } from './calm.js'
import { onCores } from './cores.js'
import { randomOrder } from './keys.js'
import { resetStats, sentCommands } from './server-stats.js'
import { flush, type Opened } from './stage.js'
import { LIMIT } from './subject.js'

export const IN_FLIGHT = 64
/** How often the time is looked at: it costs a twentieth of a microsecond. */
const LOOK_EVERY = 64
/** V8 optimizes for some hundred thousand decisions. */
const WARM_ROUNDS = 3

export interface Keys {
  readonly names: readonly string[]
  /** Places of names, in the order of asking; begun anew at its end. */
  readonly order: Uint32Array
}

export function hotKey(name: string): Keys {
  return { names: [`${name}-hot`], order: new Uint32Array(1) }
}

/** All subjects of a round ask for the same keys. */
export function distinctKeys(count: number): (name: string) => Keys {
  const order = randomOrder(count)
  let latest = ''
  let names: readonly string[] = []
  return (name) => {
    if (name !== latest)
      names = Array.from({ length: count }, (_, i) => `${name}-${String(i).padStart(8, '0')}`)
    latest = name
    return { names, order }
  }
}

/** What a decision costs each subject, round by round. */
export async function underLoad(
  servers: readonly RedisServer[],
  opened: readonly Opened[],
  { rounds, turnMs, oneCore }: Scale,
  keysOf: (name: string) => Keys,
): Promise<readonly Row[]> {
  // Other keys in each turn: to a limiter that remembers what it saw, a key that begins anew has
  // been lost.
  const turns = (name: string, count: number) =>
    inRounds(opened, count, (one, round) => {
      return calmly(one.subject, (attempt) =>
        loadTurn(servers, one, keysOf(`${name}${round}-${attempt}`), turnMs),
      )
    })
  const all = async (): Promise<readonly Samples[]> => {
    await turns('w', Math.min(rounds, WARM_ROUNDS))
    return turns('r', rounds)
  }
  const pids = [process.pid, ...servers.map(({ pid }) => pid)]
  const samples = await onCores(pids, oneCore ? pids.map(() => 0) : undefined, all)
  return opened.map(({ name, kind }, i) => ({ subject: name, kind, samples: samples[i] ?? {} }))
}

/**
 * One turn of one subject on an empty Redis: what a decision costs, and that its count is right.
 */
export async function loadTurn(
  servers: readonly RedisServer[],
  { name, subject, keyless }: Opened,
  { names, order }: Keys,
  forMs: number,
): Promise<Turn> {
  await flush(servers)
  const first = names[order[0] as number] as string
  let step = 0
  const nextKey = (): string => {
    const key = names[order[step % order.length] as number] as string
    step += 1
    return key
  }
  await resetStats(servers)
  const { decisions, ...cost } = await costOf(servers, () =>
    keepAsking(subject.ask, nextKey, forMs),
  )
  const commands = (await sentCommands(servers)) / decisions
  let ofFirst = 0
  for (let i = 0; i < decisions; i += 1) if (order[i % order.length] === order[0]) ofFirst += 1
  // Units of one that does not tell keys apart go on falling from turn to turn.
  if (!keyless) await checkCount(name, subject, first, ofFirst, LIMIT)
  return { ...cost, commands }
}

/** Keeps requests in flight for a while, each asked when the one before it is answered. */
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
  /** Decisions in a second. */
  readonly rate: number
  /** CPU of this process, and of the main threads of all servers, in microseconds for each
   *  decision. */
  readonly clientUs: number
  readonly redisUs: number
}

export async function costOf(
  servers: readonly RedisServer[],
  work: () => Promise<number>,
): Promise<Cost> {
  const redisBefore = await redisCpuUs(servers)
  const clientBefore = process.cpuUsage()
  const started = performance.now()
  const decisions = await work()
  const ms = performance.now() - started
  const { user, system } = process.cpuUsage(clientBefore)
  const redisUs = (await redisCpuUs(servers)) - redisBefore
  return {
    decisions,
    rate: (decisions / ms) * 1_000,
    clientUs: (user + system) / decisions,
    redisUs: redisUs / decisions,
  }
}

async function redisCpuUs(servers: readonly RedisServer[]): Promise<number> {
  const infos = await Promise.all(servers.map((server) => server.command('INFO', 'cpu')))
  let seconds = 0
  for (const info of infos.map(String)) {
    // Where a server does not tell threads apart (Redis 6.0), the whole process.
    const fields = [...info.matchAll(/used_cpu_(?:sys|user)_main_thread:([\d.]+)/g)]
    const told = fields.length > 0 ? fields : [...info.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)]
    for (const [, value] of told) seconds += Number(value)
  }
  return seconds * 1e6
}
