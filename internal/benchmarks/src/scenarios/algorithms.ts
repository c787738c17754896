// What each algorithm costs in Redis, and the most that attackers get from its policies: the
// figures of results/algorithms.md.

import { strict as assert } from 'node:assert'
import { fileURLToPath } from 'node:url'
import { recommendedRedisOptions } from '@weir/core'
import { calmly } from '../redis/calm.js'
import { connected } from '../redis/client.js'
import { floors, MINIMAL } from '../redis/floors.js'
import { fill, openLimited, WINDOW_MS } from '../redis/limited.js'
import { scriptTime } from '../redis/server-stats.js'
import { onRedis } from '../redis/stage.js'
import { LARGEST_CALL, LOG, weir } from '../redis/weir.js'
import { inRounds } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Row, Table } from '../table.js'
import { bytesOf, keyBytes, keysOf } from './redis-bytes.js'
import { repeatsIn, scriptTurn } from './script-time.js'

const LIMITS = [10, 1_000, 10_000, 100_000]
const STEPS = 500

const decisionMetrics: readonly Metric[] = [
  { id: 'alone', title: 'one by one, us', digits: 2, better: 'less', base: MINIMAL },
  {
    ...{ id: 'together', title: `in a call of ${LARGEST_CALL}, us each`, digits: 2 },
    ...{ better: 'less', base: MINIMAL },
  },
  { id: 'bytes', title: 'bytes of a key', digits: 0, better: 'less' },
  { id: 'over', title: 'beyond a plain counter', digits: 0, better: 'less' },
]
const logMetrics: readonly Metric[] = [
  { id: 'bytes', title: 'bytes', digits: 0, better: 'less' },
  { id: 'each', title: 'a request', digits: 1, better: 'less' },
  { id: 'us', title: 'us', digits: 2, better: 'less' },
]
const attackMetrics: readonly Metric[] = [
  { id: 'bound', title: 'bound', digits: 2, better: 'less' },
  { id: 'plan', title: 'by plan', digits: 2, better: 'less' },
  { id: 'search', title: 'by search', digits: 2, better: 'less' },
]

export const algorithms: Scenario = {
  id: 'algorithms',
  title: 'Algorithms',
  about: 'Script time, bytes in Redis, and the most that attackers get.',
  goals: [],
  measure: async (scale) => [await decisions(scale), await fullLogs(scale), await attacks(scale)],
}

async function decisions(scale: Scale): Promise<Table> {
  const kinds = [...floors.filter(({ name }) => name === MINIMAL), ...weir]
  const rows = await onRedis(kinds, async (server, opened) => {
    const turns = (rounds: number) =>
      inRounds(opened, rounds, (one) =>
        calmly(one.subject, () => scriptTurn(server, one, repeatsIn(scale))),
      )
    await turns(1)
    const samples = await turns(scale.rounds)
    const each: Row[] = []
    for (const [i, { name, kind, subject }] of opened.entries()) {
      const bytes = kind === 'weir' ? await keyBytes(server, subject) : {}
      each.push({ subject: name, kind, samples: { ...samples[i], ...bytes } })
    }
    return each
  })
  return { id: 'decisions', title: 'What a decision takes', metrics: decisionMetrics, rows }
}

/** Exact logs with one unit at each time: their bytes, and the time of a call when one has
 *  expired. */
async function fullLogs({ largestLog }: Scale): Promise<Table> {
  const rows: Row[] = []
  for (const limit of LIMITS.filter((each) => each <= largestLog)) {
    const samples = await onRedis([], async (server) => {
      const client = await connected(server.port, recommendedRedisOptions)
      const log = openLimited(client, LOG, limit)
      try {
        await fill(log, ['full'])
        assert.equal((await log.limiter.peek('full')).remaining, 0)
        const bytes = await bytesOf(server, await keysOf(server, 'full'))
        const { us, calls } = await scriptTime(server, async () => {
          for (let i = 0; i < STEPS; i += 1) {
            log.clock.advance(WINDOW_MS / limit)
            assert.equal((await log.limiter.consume('full')).allowed, true)
          }
        })
        return { bytes: [bytes], each: [bytes / limit], us: [us / calls] }
      } finally {
        await log.close()
        client.disconnect()
      }
    })
    rows.push({ subject: `limit ${limit.toLocaleString('en-US')}`, kind: 'floor', samples })
  }
  const title = 'An exact log that is full, and a call that finds one unit lapsed and takes one'
  return { id: 'logs', title, metrics: logMetrics, rows }
}

/** What packages/core's test of attackers measures for each policy. */
interface Attacked {
  readonly call: string
  readonly policy: { readonly limit: number }
  readonly bound: number
  readonly because: string
  readonly edge: number
  readonly searched: number
}

async function attacks({ attacks }: Scale): Promise<Table> {
  const root = new URL('../../../../', import.meta.url)
  const { loadTs } = await import(new URL('tools/load-ts.mjs', root).href)
  const path = fileURLToPath(new URL('packages/core/test/redis/attack/targets.ts', root))
  const { measure } = (await loadTs(path)) as { measure(seed: number, tries: number): Attacked[] }
  const rows = measure(1, attacks).map(
    ({ call, policy: { limit }, bound, because, edge, searched }): Row => ({
      subject: `${call}: ${because}`,
      kind: 'floor',
      samples: { bound: [bound / limit], plan: [edge / limit], search: [searched / limit] },
    }),
  )
  const title = `The most that attackers got in any minute, x the limit of 100 a minute: by plan (all at the last moment of a window and all at the first of the next, and the like), and by a search through ${attacks.toLocaleString('en-US')} attacks`
  return { id: 'attacks', title, metrics: attackMetrics, rows }
}
