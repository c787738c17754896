// The side of a child process: holds slots, one after the other in several lines, and counts in
// Redis how many hold one at the same time.

import type { Redis } from 'ioredis'
import { concurrency, RateLimiter } from '../../../src/index.js'
import { patientOptions, patientStore } from '../patient.js'

export interface HoldJob {
  readonly port: number
  /** Part of every key, so that each job has keys of its own. */
  readonly prefix: string
  readonly limit: number
  readonly holdMs: number
  /** How many work side by side. */
  readonly lines: number
  /** How many holds each line has. */
  readonly holds: number
  /** How long each hold lasts at the most, and half as long at least, in ms. */
  readonly workMs: number
}

export interface HoldReport {
  /** Holds that were granted. */
  readonly granted: number
  /** The most that held a slot at the same time, of all processes. */
  readonly most: number
}

export function serve(Client: new (port: number, options: object) => Redis): void {
  process.on('message', (job: HoldJob) => {
    void work(Client, job).then((report) => process.send?.(report))
  })
  process.send?.('ready')
}

async function work(
  Client: new (port: number, options: object) => Redis,
  { port, prefix, limit, holdMs, lines, holds, workMs }: HoldJob,
): Promise<HoldReport> {
  const client = new Client(port, patientOptions)
  await new Promise((resolve) => client.once('ready', resolve))
  const store = patientStore(client, { prefix })
  const policy = concurrency({ name: 'open', limit, holdTimeout: holdMs })
  const limiter = new RateLimiter({ name: 'holders', store, policy })
  const counter = `${prefix}in-progress`
  let granted = 0
  let most = 0

  async function line(): Promise<void> {
    for (let i = 0; i < holds; i += 1) {
      await limiter.hold(
        'k',
        async () => {
          granted += 1
          most = Math.max(most, await client.incr(counter))
          await new Promise((resolve) => setTimeout(resolve, (workMs / 2) * (1 + Math.random())))
          await client.decr(counter)
        },
        { timeout: '60s' },
      )
    }
  }

  await Promise.all(Array.from({ length: lines }, line))
  limiter.close()
  await store.close()
  client.disconnect()
  return { granted, most }
}
