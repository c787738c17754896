// @ts-check
// A process of the fleet: takes jobs, and calls the third party for each when its turn comes.

import { recommendedRedisOptions, redisStore } from '@weir/core'
import { Redis } from 'ioredis'
import { outgoing } from './outgoing.js'

/** @typedef {{ url: string, name: string, jobs: number }} Work */
/** @typedef {{ called: number, refused: number, postponed: number }} Report */

const client = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', recommendedRedisOptions)
// Not the message of a system error, which has the address: an address may have a password.
client.on('error', (/** @type {NodeJS.ErrnoException} */ { code, message }) =>
  console.error('redis:', code ?? message),
)
// A job that can wait seconds for its turn can also wait for Redis. Without Redis, each process
// takes its part of the rate.
const store = redisStore(client, { deadlineMs: 10_000 })
const limiter = outgoing(store)

process.on('message', async (message) => {
  const { url, name, jobs } = /** @type {Work} */ (message)
  /** @type {Report} */
  const report = { called: 0, refused: 0, postponed: 0 }

  /** @param {string} job */
  async function call(job) {
    const { allowed } = await limiter.wait('third-party', { timeout: '20s' })
    // Too many calls are ahead of it. A real worker puts the job back into its queue.
    if (!allowed) {
      report.postponed += 1
      return
    }
    const response = await fetch(`${url}/${job}`)
    await response.text()
    if (response.status === 429) report.refused += 1
    else report.called += 1
  }

  await Promise.all(Array.from({ length: jobs }, (_, i) => call(`${name}-${i}`)))
  process.send?.(report)
})

// Gives back the reserved turns that have not come yet.
process.once('disconnect', async () => {
  limiter.close()
  await store.close()
  client.disconnect()
})

client.once('ready', () => process.send?.('ready'))
