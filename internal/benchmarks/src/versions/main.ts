// A process of one version of Weir, with its own Redis. It takes a turn for each message.

import { strict as assert } from 'node:assert'
import { startRedis } from '@weir/testkit'
import { calmly } from '../redis/calm.js'
import { onCores } from '../redis/cores.js'
import { LIMIT } from '../redis/subject.js'
import { weir } from '../redis/weir.js'
import type { Turn } from '../rounds.js'
import type { Scale } from '../scenario.js'
import { refusedTurn, WEIR_REFUSERS, weirRefuser } from '../scenarios/refused.js'
import { repeatsIn, scriptTurn } from '../scenarios/script-time.js'

export type RedisExercise = 'script' | 'refused'

export interface RedisTurn {
  readonly exercise: RedisExercise
  /** A row of redis/weir.ts or, for refusals, of scenarios/refused.ts. */
  readonly subject: string
}

const scale = JSON.parse(process.argv[2] as string) as Scale
const server = await startRedis()
const opened = await Promise.all(
  weir.map(async (kind) => ({ ...kind, subject: await kind.open(server.port, LIMIT) })),
)
const refusers = await Promise.all(WEIR_REFUSERS.map((name) => weirRefuser(server, name)))

function turnOf({ exercise, subject }: RedisTurn): Promise<Turn> {
  if (exercise === 'refused') {
    const refuser = refusers.find(({ name }) => name === subject)
    assert.ok(refuser)
    return calmly(refuser, () => refusedTurn(server, refuser, scale.turnMs))
  }
  const one = opened.find(({ name }) => name === subject)
  assert.ok(one)
  return calmly(one.subject, () => scriptTurn(server, one, repeatsIn(scale)))
}

process.on('message', async (job: RedisTurn) => {
  const turn = () => turnOf(job)
  const cores = scale.oneCore ? [0, 0] : undefined
  process.send?.(await onCores([process.pid, server.pid], cores, turn))
})
process.on('disconnect', async () => {
  await server.stop()
  process.exit(0)
})
process.send?.('ready')
