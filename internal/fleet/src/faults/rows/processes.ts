// Several processes share one limit, with and without Redis.
import type { RedisStoreOptions } from '@weir/core'
import { countAtLeast, countAtMost } from '../checks.js'
import type { PolicySettings } from '../client/protocol.js'
import { perWindow } from '../figures.js'
import { killed, load, NO_FAULT, type Run, underFault } from '../outage.js'
import type { Row } from '../row.js'
import { degradedAtMost, exactWindows, sane } from '../verdicts.js'

const PROCESSES = 4
const WINDOW_MS = 1_000

function perSecond(limit: number): PolicySettings {
  return { make: 'fixedWindow', options: { name: 'second', limit, window: WINDOW_MS } }
}

const together: Row = {
  number: '18',
  fault: '4 processes, concurrency',
  must: 'exact',
  async run(stage, length) {
    const server = await stage.redis()
    // Bursts in which each request has its own connection, so that only Redis decides their order.
    const connections = length.name === 'full' ? 50 : 10
    const job = load(server.port, {
      policy: perSecond(100),
      ratePerSecond: 10 * connections,
      atOnce: connections,
      stores: connections,
    })
    const jobs = Array(PROCESSES).fill(job)
    const run = await underFault(stage, { ...length, afterMs: 0 }, jobs, NO_FAULT)
    return [...exactWindows(run, 100), degradedAtMost(run, 0), ...sane(run)]
  },
}

interface Down {
  readonly number: string
  readonly variant: string
  readonly limit: number
  readonly store: RedisStoreOptions
  readonly warmUpMs: number
}

const GIVEN = { store: { instances: PROCESSES }, warmUpMs: 1_000 }
/** Processes that are not told their number count the others every 3 s. */
const COUNTED = { store: {}, warmUpMs: 4_500 }

/**
 * Each process keeps to its share, so no more than the limit passes, whatever the number of
 * processes.
 */
function withStoreDown({ number, variant, limit, store, warmUpMs }: Down): Row {
  return {
    number,
    variant,
    fault: `${PROCESSES} processes, store down; ${variant}`,
    must: 'sum of shares',
    async run(stage, length) {
      const server = await stage.redis()
      const wire = await stage.proxy(server.port)
      const fault = { ...killed(stage, server, wire), end() {} }
      const job = load(wire.port, { policy: perSecond(limit), store })
      const course = { ...length, warmUpMs, faultMs: Math.max(3_500, length.faultMs), afterMs: 0 }
      const run = await underFault(stage, course, Array(PROCESSES).fill(job), fault, wire)
      const total = inTotal(run)
      // A limiter that denies everything would keep any limit.
      const useful = limit >= PROCESSES ? [countAtLeast('in use', total, limit - PROCESSES)] : []
      return [countAtMost('per window in total', total, limit), ...useful, ...sane(run)]
    },
  }
}

/**
 * The sum of the most that each process admitted in one of its windows, after the earlier windows
 * have ended.
 */
function inTotal({ reports, fault }: Run): number {
  const most = reports.map(({ samples }) => {
    const local = samples.filter(({ at, degraded }) => degraded && at > fault.from + WINDOW_MS)
    return Math.max(0, ...perWindow(local))
  })
  return most.reduce((sum, count) => sum + count, 0)
}

export const processes: readonly Row[] = [
  ...[100, 3].flatMap((limit) => [
    withStoreDown({ number: '17', variant: `limit ${limit}, instances given`, limit, ...GIVEN }),
    withStoreDown({
      number: '17',
      variant: `limit ${limit}, instances counted`,
      limit,
      ...COUNTED,
    }),
  ]),
  together,
]
