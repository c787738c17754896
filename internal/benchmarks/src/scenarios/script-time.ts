// How long the server is busy with a decision, by its own clock.

import { strict as assert } from 'node:assert'
import type { RedisServer } from '@weir/testkit'
import { calmly } from '../redis/calm.js'
import { MINIMAL } from '../redis/floors.js'
import { areOnly, scriptTime } from '../redis/server-stats.js'
import { type Opened, onRedis } from '../redis/stage.js'
import { subjects } from '../redis/subjects.js'
import { LARGEST_CALL } from '../redis/weir.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Metric, Table } from '../table.js'

const BATCH = 64

const metrics: readonly Metric[] = [
  { id: 'alone', title: 'one by one, us', digits: 2, better: 'less', base: MINIMAL },
  {
    ...{
      id: 'together',
      title: `${BATCH} at once, us each`,
      digits: 2,
      better: 'less',
      base: MINIMAL,
    },
  },
]

const table = 'script-time'

export const scriptTimes: Scenario = {
  id: 'script-time',
  title: 'Script time in Redis',
  about: `Microseconds of EVALSHA (or EVAL) in the server's own statistics, for each decision, on ${BATCH} keys that exist; all allowed. "One by one": each asked when the one before it is answered. "At once": ${BATCH} requests in one turn of the event loop, which Weir and two of the floors send in ${BATCH / LARGEST_CALL} calls of ${LARGEST_CALL} and the others one by one. These are times of wall clocks: only ratios within the run mean much.`,
  goals: [],
  measure,
}

async function measure(scale: Scale): Promise<readonly Table[]> {
  const scripted = subjects.filter(({ name }) => name !== 'INCR')
  const repeats = repeatsIn(scale)
  return onRedis(scripted, async (server, opened) => {
    await inRounds(opened, 1, (one) => calmly(one.subject, () => scriptTurn(server, one, repeats)))
    const samples = await inRounds(opened, scale.rounds, (one) =>
      calmly(one.subject, () => scriptTurn(server, one, repeats)),
    )
    const rows = opened.map(({ name, kind }, i) => ({
      subject: name,
      kind,
      samples: samples[i] ?? {},
    }))
    return [{ id: table, title: 'What a decision takes', metrics, rows }]
  })
}

/** How often a turn requests each key. */
export function repeatsIn({ turnMs }: Scale): number {
  return Math.max(1, Math.round(turnMs / 40))
}

export async function scriptTurn(
  server: RedisServer,
  { name, largestCall = 1, subject }: Opened,
  repeats: number,
): Promise<Turn> {
  const keys = Array.from({ length: BATCH }, (_, i) => `script-${i}`)
  const together = async (): Promise<void> => {
    await Promise.all(keys.map((key) => subject.ask(key)))
  }
  await together()
  const atOnce = await scriptTime(server, async () => {
    for (let i = 0; i < repeats; i += 1) await together()
  })
  const decisions = repeats * BATCH
  const calls = repeats * Math.ceil(BATCH / largestCall)
  assert.ok(areOnly(calls, atOnce), `${name} made ${atOnce.calls} calls for ${decisions} decisions`)
  const alone = await scriptTime(server, async () => {
    for (let i = 0; i < repeats; i += 1) for (const key of keys) await subject.ask(key)
  })
  assert.ok(
    areOnly(decisions, alone),
    `${name} made ${alone.calls} calls for ${decisions} decisions`,
  )
  return { alone: alone.us / decisions, together: atOnce.us / decisions }
}
