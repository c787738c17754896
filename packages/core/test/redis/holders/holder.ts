// The child process: holds slots, in several parallel sequences, and counts in Redis how many hold
// one at the same time.

import type { Redis } from 'ioredis'
import { concurrency, RateLimiter } from '../../../src/index.js'
import { patientOptions, patientStore } from '../patient.js'

export interface HoldJob {
  readonly port: number
  /** A part of every key, so that each job has separate keys. */
  readonly prefix: string
  readonly limit: number
  readonly holdMs: number
  /** The number of parallel sequences. */
  readonly lines: number
  /** The number of holds in each sequence. */
  readonly holds: number
  /** The longest time of a hold, in ms; the shortest is half as long. */
  readonly workMs: number
}

export interface HoldReport {
  /** The number of holds that were granted. */
  readonly granted: number
  /** The most holders of a slot at the same time, in all processes. */
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
