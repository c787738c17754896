// A process of one version of Weir, with its own Redis, which refuses for a turn for each message.

import { strict as assert } from 'node:assert'
import { startRedis } from '@weir/testkit'
import { calmly } from '../redis/calm.js'
import { onCores } from '../redis/cores.js'
import { refusedTurn, WEIR_REFUSERS, weirRefuser } from '../redis/refusers.js'
import type { Scale } from '../scenario.js'

const { oneCore, turnMs } = JSON.parse(process.argv[2] as string) as Scale
const server = await startRedis()
const refusers = await Promise.all(WEIR_REFUSERS.map((name) => weirRefuser(server, name)))

process.on('message', async (subject: string) => {
  const refuser = refusers.find(({ name }) => name === subject)
  assert.ok(refuser)
  const turn = () => calmly(refuser, () => refusedTurn(server, refuser, turnMs))
  process.send?.(await onCores([process.pid, server.pid], oneCore ? [0, 0] : undefined, turn))
})
process.on('disconnect', async () => {
  await server.stop()
  process.exit(0)
})
process.send?.('ready')
