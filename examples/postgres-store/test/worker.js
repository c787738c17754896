// @ts-check
// A process that makes the decisions of a job, all at once.

import { RateLimiter } from '@weir/core'
import { postgresStore } from '../src/postgres-store.js'
import { account, address, PATIENT, policyOf } from './shared.js'

/**
 * @typedef {{ kind: 'rush', keys: string[], asks: number } | { kind: 'pairs', asks: number }} Job
 * @typedef {Record<string, number>} Counts
 */

const store = postgresStore({ connectionString: process.env.DATABASE_URL, ...PATIENT })

/**
 * Asks many times for each of these keys, and counts the allowed requests.
 * @param {string[]} keys
 * @param {number} asks
 */
async function rush(keys, asks) {
  /** @type {Counts} */
  const allowed = {}
  await Promise.all(
    keys.map(async (key, i) => {
      const limiter = new RateLimiter({ name: 'rush', store, policy: policyOf(i), shared: true })
      const decisions = await Promise.all(Array.from({ length: asks }, () => limiter.consume(key)))
      allowed[key] = decisions.filter((decision) => decision.allowed).length
    }),
  )
  return allowed
}

/**
 * Decides about pairs of keys, in its own order, refunds every third unit, and resets other keys.
 * Counts what it took and kept.
 * @param {number} process
 * @param {number} asks
 */
async function pairs(process, asks) {
  /** @type {Counts} */
  const taken = {}
  const others = new RateLimiter({ name: 'others', store, policy: address })
  await Promise.all(
    Array.from({ length: asks }, async (_, i) => {
      const uses = [
        { policy: address, key: `address-${(i * 7 + process) % 6}` },
        { policy: account, key: `account-${(i * 5 + 2 * process) % 6}` },
      ]
      if (process % 2 === 1) uses.reverse()
      const limiter = new RateLimiter({ name: 'pairs', store, policy: uses, shared: true })
      const decision = await limiter.consume('pair')
      if (i % 3 === 0) await limiter.refund(decision)
      else for (const { key } of uses) taken[key] = (taken[key] ?? 0) + 1
      await others.consume(`other-${i % 5}`)
      if (i % 10 === 0) await others.reset(`other-${i % 5}`)
    }),
  )
  return taken
}

process.on('message', async (message) => {
  const job = /** @type {Job & { process: number }} */ (message)
  try {
    const counts =
      job.kind === 'rush' ? await rush(job.keys, job.asks) : await pairs(job.process, job.asks)
    process.send?.({ counts })
  } catch (error) {
    process.send?.({ error: String(error) })
  }
})

process.once('disconnect', () => void store.close())
await store.sweep()
process.send?.('ready')
