// Requests of both versions wait for turns of one bucket: each gets a separate turn, and does not
// pass earlier.

import type { WaitDecision } from '@weir/core'
import type { StoreResult } from '@weir/core/store'
import type { Bench, Found } from '../bench.js'
import { storeOf } from '../version.js'

const EACH = 30
const LEAVING = 5
const TURN_MS = 10

export async function checkWaiting(bench: Bench): Promise<Found> {
  const prefix = bench.newPrefix()
  const sides = await Promise.all(
    bench.versions.map(async (version) => {
      const { RateLimiter, leakyBucket } = version.core
      const store = storeOf(version, await bench.newClient(), { prefix })
      const policy = leakyBucket({ capacity: 1, leak: 100, every: '1s', maxWait: '20s' })
      return { store, limiter: new RateLimiter({ name: 'turns', store, policy, shared: true }) }
    }),
  )
  const problems: string[] = []
  const turns: number[] = []
  let left = 0
  const waits = Array.from({ length: 2 * EACH }, async (_, i) => {
    const leaves = i % ((2 * EACH) / LEAVING) === 3 ? AbortSignal.timeout(50) : undefined
    const { limiter } = sides[i % 2] as (typeof sides)[number]
    try {
      const decision = await limiter.wait('k', { timeout: '20s', signal: leaves })
      const nowMs = Date.now()
      const turnMs = turnOf(decision)
      if (turnMs === undefined) problems.push(`denied: ${decision.retryAfterMs} ms`)
      else {
        turns.push(turnMs)
        if (nowMs + 1 < turnMs) problems.push(`passed ${turnMs - nowMs} ms before its turn`)
      }
    } catch (error) {
      if (leaves?.aborted) left += 1
      else problems.push(String(error))
    }
  })
  await Promise.all(waits)
  turns.sort((one, other) => one - other)
  for (let i = 1; i < turns.length; i += 1) {
    const apartMs = (turns[i] as number) - (turns[i - 1] as number)
    if (apartMs < TURN_MS - 0.01) problems.push(`two turns are ${apartMs} ms apart`)
  }
  for (const { store } of sides) await store.close()
  return { did: `${turns.length} passed, ${left} left`, problems }
}

/** The time of its turn on Redis's clock; undefined if it was denied. */
function turnOf(decision: WaitDecision): number | undefined {
  if (!decision.allowed) return undefined
  const { untilUs } = decision.receipt.result as StoreResult
  return (untilUs[0] as number) / 1_000 - TURN_MS
}
