// A real process of a fleet, for validate.ts. It runs the load that it receives, and replies with
// the results.

import { randomOf } from '@weir/testkit/virtual-time'
import { processTime } from '../../../../packages/core/src/base/time.js'
import { inTicks, Load, type Outcome, type Workload } from './load.js'
import { connected, type Opened, openLimiter } from './real-process.js'

export interface Job {
  readonly workload: Workload
  /** The name of the limiter. */
  readonly name: string
  readonly rank: number
  readonly forMs: number
}

/** The results of its requests, the part of the ticks that it missed, and the CPU time it used. */
export interface Ran extends Outcome {
  readonly missed: number
  readonly cpuUs: number
}

/** How long to wait for answers after the last request. */
const LAST_MS = 300

const client = await connected(Number(process.argv[2]))
let opened: Opened | undefined
let job: Job | undefined

process.on('message', async (message: Job | 'go') => {
  if (message === 'go') {
    process.send?.(await run(job as Job, opened as Opened))
    return
  }
  await opened?.close()
  job = message
  opened = await openLimiter(client, message.workload, message.name, message.rank)
  process.send?.('ready')
})
process.once('disconnect', () => process.exit(0))
process.send?.('ready')

async function run({ workload, rank, forMs }: Job, { limiter }: Opened): Promise<Ran> {
  const random = randomOf(rank + 1)
  const load = new Load(workload, processTime, random, (key) => limiter.consume(key))
  const before = process.cpuUsage()
  const ticks = inTicks(workload, processTime, random, () => void load.ask())
  await new Promise((resolve) => setTimeout(resolve, forMs))
  ticks.stop()
  const { user, system } = process.cpuUsage(before)
  await new Promise((resolve) => setTimeout(resolve, LAST_MS))
  return { ...load.outcome, missed: ticks.missed / ticks.all, cpuUs: user + system }
}
