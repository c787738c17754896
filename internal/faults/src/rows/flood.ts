// Keys without number, as an attacker makes them up.
import { type Check, countAtMost, exactly, msAtMost } from '../checks.js'
import type { Flood } from '../client/protocol.js'
import { now } from '../client/time.js'
import { type Length, load, runOf } from '../outage.js'
import type { Row } from '../row.js'
import { sane } from '../verdicts.js'

const KEYS = 1_000_000
const HEAP_MB = 20
/** One step of a sweep, or a collection of garbage that falls into it. */
const TURN_MS = 30

const policy = { make: 'fixedWindow', options: { name: 'hour', limit: 5, window: '1h' } }

const ROW = {
  must: 'bound its memory',
  pass: `heap + <= ${HEAP_MB} MB, p99 <= 5 ms; an exhausted key stays exhausted`,
  alone: true,
} as const

const fallback: Row = {
  ...ROW,
  number: '23',
  fault: '1,000,000 unique keys, store down',
  async run(stage, length) {
    const server = await stage.redis()
    const wire = await stage.proxy(server.port)
    const client = await stage.client(load(wire.port, { policy, flood: keysIn(length) }))
    server.kill()
    await wire.set('refuse')
    const result = await client.flood()
    const report = await client.stop()
    return [...bounded(result), ...sane(runOf([report], { from: 0, to: 0 }, now(), wire))]
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
    return [...bounded(result), ...sane(runOf([report], { from: 0, to: 0 }, now()))]
  },
}

function keysIn({ name }: Length): number {
  return name === 'full' ? KEYS : KEYS / 5
}

function bounded(flood: Flood): Check[] {
  return [
    countAtMost('heap, MB', Math.round(flood.heapGrowthMb), HEAP_MB),
    msAtMost('p99', flood.p99, 5),
    msAtMost('longest step beside the requests', flood.longestTurnMs, TURN_MS),
    exactly('exhausted key admitted', flood.exhaustedAdmitted ? 1 : 0, 0),
    countAtMost('errors of decisions', flood.errors, 0),
  ]
}

export const floods: readonly Row[] = [fallback, memory]
