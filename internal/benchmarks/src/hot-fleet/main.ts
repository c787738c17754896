// A process of a fleet that requests one hot key at an even pace.

import {
  type Policy,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
  slidingWindow,
  tokenBucket,
} from '@weir/core'
import { connected } from '../redis/client.js'
import { quantile } from '../statistics.js'
import { type HotJob, type HotReport, type HotTurn, WINDOW_MS } from './job.js'

/** As docs/scaling.md recommends for such a hot key. */
const LEASES = { units: 1_000, holdMs: 200 }
const PACE_MS = 1

const { redisPort } = JSON.parse(process.argv[2] as string) as HotJob
const client = await connected(redisPort, recommendedRedisOptions)
const stores = {
  plain: redisStore(client, { deadlineMs: 1_000 }),
  leased: redisStore(client, { deadlineMs: 1_000, leases: LEASES }),
}

process.on('message', async (turn: HotTurn) => {
  process.send?.(await reportOf(turn))
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

function policyOf({ algorithm, limit }: HotTurn): Policy {
  return algorithm === 'token bucket'
    ? tokenBucket({ capacity: limit, refill: limit, every: WINDOW_MS })
    : slidingWindow({ limit, window: WINDOW_MS })
}

async function reportOf(turn: HotTurn): Promise<HotReport> {
  const store = turn.leases ? stores.leased : stores.plain
  const policy = policyOf(turn)
  const limiter = new RateLimiter({ name: turn.key, store, policy, shared: true })
  const allowed = new Map<number, number>()
  const took: number[] = []
  let byRedis = 0
  const before = process.cpuUsage()
  const begun = performance.now()
  const pending: Promise<void>[] = []

  async function ask(): Promise<void> {
    const askedMs = performance.now()
    const decision = await limiter.consume('k')
    took.push(performance.now() - askedMs)
    if (decision.source === 'store') byRedis += 1
    if (!decision.allowed) return
    const ms = Date.now()
    allowed.set(ms, (allowed.get(ms) ?? 0) + 1)
  }

  let asked = 0
  let gone = 0
  while (gone < turn.forMs) {
    await new Promise((resolve) => setTimeout(resolve, PACE_MS))
    gone = Math.min(turn.forMs, performance.now() - begun)
    for (; asked < (gone / 1_000) * turn.perSecond; asked += 1) {
      pending.push(ask())
      // Each request has its own event, as those of a server do, so none takes longer because of
      // others in front of it.
      await new Promise(setImmediate)
    }
  }
  await Promise.all(pending)
  const { user, system } = process.cpuUsage(before)
  return {
    allowed: [...allowed],
    asked,
    byRedis,
    tookMs: [quantile(took, 0.5), quantile(took, 0.99)],
    busy: (user + system) / 1_000 / (performance.now() - begun),
  }
}
