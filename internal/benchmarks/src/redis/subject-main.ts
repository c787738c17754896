// A process of one subject, as a service has one limiter, with a Redis of its own. It asks one
// request after the other whenever it is told to, and says what one takes.

import { strict as assert } from 'node:assert'
import type { RedisServer } from '@weir/testkit'
import { checkCount } from '../exactness.js'
import type { Turn } from '../rounds.js'
import { quantile } from '../statistics.js'
import { calmly } from './calm.js'
import { onCores } from './cores.js'
import { costOf } from './load.js'
import { flush, type Opened, onRedis } from './stage.js'
import { LIMIT } from './subject.js'
import { subjects } from './subjects.js'

export interface AloneJob {
  /** A row of redis/subjects.ts. */
  readonly name: string
  /** The cores of this process and of its Redis. */
  readonly cores: readonly [client: number, redis: number]
}

export interface AloneTurn {
  /** Another one in each turn. */
  readonly key: string
  readonly forMs: number
}

const { name, cores } = JSON.parse(process.argv[2] as string) as AloneJob
const kind = subjects.find((each) => each.name === name)
assert.ok(kind, `there is no subject ${name}`)

await onRedis([kind], (server, [one]) =>
  onCores([process.pid, server.pid], cores, async () => {
    process.on('message', async ({ key, forMs }: AloneTurn) => {
      const { subject } = one as Opened
      const turn = await calmly(subject, (attempt) =>
        turnOf(server, one as Opened, `${key}-${attempt}`, forMs),
      )
      process.send?.(turn)
    })
    const ended = new Promise((resolve) => process.once('disconnect', resolve))
    process.send?.('ready')
    await ended
  }),
)
process.exit(0)

async function turnOf(
  server: RedisServer,
  { name, subject, keyless }: Opened,
  key: string,
  forMs: number,
): Promise<Turn> {
  await flush([server])
  const times: number[] = []
  const { decisions, clientUs, redisUs } = await costOf([server], async () => {
    const end = performance.now() + forMs
    for (let now = performance.now(); now < end; ) {
      await subject.ask(key)
      const after = performance.now()
      times.push((after - now) * 1_000)
      now = after
    }
    return times.length
  })
  if (!keyless) await checkCount(name, subject, key, decisions, LIMIT)
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), clientUs, redisUs }
}
