// Whether script time depends on the limit, and how long a single call can block the server.

import { strict as assert } from 'node:assert'
import { recommendedRedisOptions } from '@weir/core'
import type { RedisServer } from '@weir/testkit'
import type { Goal } from '../goals.js'
import { connected } from '../redis/client.js'
import { fill, type Limited, openLimited, WINDOW_MS } from '../redis/limited.js'
import { areOnly, longestScript, scriptTime } from '../redis/server-stats.js'
import { LARGEST_CALL, WEIR } from '../redis/weir.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale } from '../scenario.js'
import type { Metric, Row, Samples, Table } from '../table.js'

const SMALL = 10

const flat = 'flat-in-limit'
const worst = 'longest-call'
const metrics: readonly Metric[] = [
  { id: 'small', title: `limit ${SMALL}, us`, digits: 2, better: 'less' },
  { id: 'large', title: 'largest limit, us', digits: 2, better: 'less' },
  { id: 'growth', title: 'ratio', digits: 2, better: 'less' },
]
const longest: readonly Metric[] = [
  { id: 'decision', title: 'a decision, ms', digits: 3, better: 'less' },
  { id: 'batch', title: `a call of ${LARGEST_CALL}, ms`, digits: 3, better: 'less' },
]

/** No other limiter is measured here, and the smallest script is the same for all limits. */
export const limitsGoals: readonly Goal[] = [
  {
    ...{ table: worst, metric: 'batch', what: 'ms of the longest call', of: WEIR, atMost: 0.5 },
    ...{ peer: undefined, floor: undefined },
  },
]

export async function limits(server: RedisServer, scale: Scale): Promise<readonly Table[]> {
  const stages: Stage[] = []
  try {
    for (const name of WEIR) stages.push(await stage(server, name, scale))
    const turns = await inRounds(stages, scale.rounds, (each) => steady(server, each))
    const stalls = await inRounds(stages, scale.longRounds, (each) => stall(server, each, scale))
    const rows = (samples: readonly Samples[]): Row[] =>
      stages.map(({ name }, i) => ({ subject: name, kind: 'weir', samples: samples[i] ?? {} }))
    return [
      {
        id: flat,
        title: `At limits of ${SMALL} and ${scale.largestLog}, an exact log full, when a unit has come back`,
        metrics,
        rows: rows(turns),
      },
      {
        id: worst,
        title: `The longest: steady, after all ${scale.largestLog} units of a key have lapsed at once, and with ${LARGEST_CALL} keys of ${scale.fullLog} lapsed units, or as many new keys, in a call. The least of the rounds, since a busy machine adds to all`,
        metrics: longest,
        rows: rows(stalls.map(leastOf)),
      },
    ]
  } finally {
    for (const each of stages) await each.close()
  }
}

function leastOf(samples: Samples): Samples {
  return Object.fromEntries(
    Object.entries(samples).map(([metric, values]) => [metric, [Math.min(...values)]]),
  )
}

interface Stage {
  readonly name: string
  readonly small: Limited
  readonly large: Limited
  /** For full logs under as many keys as travel together. */
  readonly many: Limited
  close(): Promise<void>
}

async function stage(server: RedisServer, name: string, scale: Scale): Promise<Stage> {
  const client = await connected(server.port, recommendedRedisOptions)
  const small = openLimited(client, name, SMALL, 'small')
  const large = openLimited(client, name, scale.largestLog, 'large')
  const many = openLimited(client, name, scale.fullLog, 'many')
  await fill(small, ['full'])
  await fill(large, ['full'])
  return {
    ...{ name, small, large, many },
    async close() {
      for (const each of [small, large, many]) await each.close()
      client.disconnect()
    },
  }
}

const STEPS = 300

async function steady(server: RedisServer, { small, large }: Stage): Promise<Turn> {
  const us = []
  for (const { limiter, clock, limit } of [small, large]) {
    const time = await scriptTime(server, async () => {
      for (let i = 0; i < STEPS; i += 1) {
        // Two units come back for each one that is taken, so all requests are allowed.
        clock.advance((2 * WINDOW_MS) / limit)
        assert.equal((await limiter.consume('full')).allowed, true)
      }
    })
    assert.ok(areOnly(STEPS, time), `${time.calls} calls`)
    us.push(time.us / time.calls)
  }
  const [few, lots] = us as [number, number]
  return { small: few, large: lots, growth: lots / few }
}

async function stall(server: RedisServer, { large, many }: Stage, scale: Scale): Promise<Turn> {
  const keys = Array.from({ length: LARGEST_CALL }, (_, i) => `full-${i}`)
  await fill(many, keys)
  await fill(large, ['full'])
  const decision = await longestScript(server, async () => {
    for (let i = 0; i < STEPS; i += 1) {
      large.clock.advance(WINDOW_MS / scale.largestLog)
      await large.limiter.consume('full')
    }
    large.clock.advance(3 * WINDOW_MS)
    assert.equal((await large.limiter.consume('full')).allowed, true)
  })
  const batch = await longestScript(server, async () => {
    many.clock.advance(3 * WINDOW_MS)
    const decisions = await Promise.all(keys.map((key) => many.limiter.consume(key)))
    assert.ok(decisions.every(({ allowed, degraded }) => allowed && !degraded))
    const news = Array.from({ length: LARGEST_CALL }, (_, i) => `new-${many.clock.nowUs()}-${i}`)
    await Promise.all(news.map((key) => many.limiter.consume(key)))
  })
  return { decision, batch }
}
