// An unlimited number of keys, as an attacker makes them up.
import { type Check, countAtLeast, countAtMost, exactly, msAtMost } from '../checks.js'
import type { Flood } from '../client/protocol.js'
import { now } from '../client/time.js'
import { type Length, load, runOf } from '../outage.js'
import type { Row } from '../row.js'
import { sane } from '../verdicts.js'

const KEYS = 1_000_000
/** The default of `maxLocalKeys`; each table may use this much for a key of one policy. */
const LOCAL_KEYS = 100_000
const KEY_BYTES = 1_000
/** For the memory store, which keeps at most 100,000 counters. */
const MEMORY_MB = 20
/** The longest turn of the event loop, in CPU time of all threads, including those that collect
 *  garbage beside it. */
const TURN_MS = 30
/** With 100,000 local keys, whose objects a garbage collection visits: 32 to 37 ms alone, 45 beside
 *  other work. */
const LOCAL_TURN_MS = 50

const policy = { make: 'fixedWindow', options: { name: 'hour', limit: 5, window: '1h' } }

const LOCAL_MB = (LOCAL_KEYS * KEY_BYTES) / 1e6

const ROW = { must: 'bound its memory', alone: true } as const

const fallback: Row = {
  ...ROW,
  number: '23',
  fault: '1,000,000 unique keys, store down',
  async run(stage, length) {
    const server = await stage.redis()
    const wire = await stage.proxy(server.port)
    const client = await stage.client(load(wire.port, { policy, flood: keysIn(length) }))
    await wire.set('refuse')
    const result = await client.flood()
    await wire.set('pass')
    const { keys, longestTurnMs } = await client.recover()
    const report = await client.stop()
    return [
      ...bounded(result, LOCAL_MB, LOCAL_TURN_MS),
      countAtLeast('keys to count afterwards', keys, LOCAL_KEYS),
      msAtMost('longest step of recovery', longestTurnMs, LOCAL_TURN_MS),
      ...sane(runOf([report], { from: 0, to: 0 }, now(), wire)),
    ]
  },
}

const memory: Row = {
  ...ROW,
  number: '23',
  variant: 'memory store',
  fault: '1,000,000 unique keys, memory store',
  async run(stage, length) {
    const client = await stage.client(load(0, { policy, flood: keysIn(length), stores: 0 }))
    const result = await client.flood()
    const report = await client.stop()
    return [
      ...bounded(result, MEMORY_MB, TURN_MS),
      ...sane(runOf([report], { from: 0, to: 0 }, now())),
    ]
  },
}

function keysIn({ name }: Length): number {
  return name === 'full' ? KEYS : KEYS / 5
}

function bounded(flood: Flood, mb: number, turnMs: number): Check[] {
  return [
    countAtMost('memory, MB', Math.round(flood.memoryGrowthMb), mb),
    msAtMost('p99', flood.p99, 5),
    msAtMost('longest step beside the requests', flood.longestTurnMs, turnMs),
    exactly('exhausted key admitted', flood.exhaustedAdmitted ? 1 : 0, 0),
    countAtMost('errors of decisions', flood.errors, 0),
  ]
}

export const floods: readonly Row[] = [fallback, memory]
