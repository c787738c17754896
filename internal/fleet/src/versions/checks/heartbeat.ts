// Processes of both versions count each other, which decides their shares of the limits in an
// outage.

import { waitUntil } from '@weir/testkit'
import type { Bench, Found } from '../bench.js'
import { storeOf, type Version } from '../version.js'

const EACH = 2

export async function checkHeartbeat(bench: Bench): Promise<Found> {
  const client = await bench.newClient()
  const prefix = bench.newPrefix()
  const stores = [...bench.versions, ...bench.versions].map((version) =>
    storeOf(version, client, { prefix, instances: undefined }),
  )
  // The first reply starts a heartbeat.
  for (const [i, store] of stores.entries()) {
    const { core } = bench.versions[i % 2] as Version
    const policy = core.slidingWindow({ limit: 1, window: '1m' })
    await new core.RateLimiter({ name: 'first', store, policy, shared: true }).peek('k')
  }
  const counts = () => stores.map((store) => store.health().instances)
  const problems: string[] = []
  try {
    const all = stores.length
    await waitUntil('each process to count all', async () => counts().every((n) => n === all))
  } catch {
    problems.push(`${stores.length} processes count ${counts().join(', ')}`)
  }
  await Promise.all(stores.map((store) => store.close()))
  const [key] = await client.keys(`${prefix}:*`)
  if (key !== undefined) problems.push(`when all have left, ${key} has ${await client.zcard(key)}`)
  return { did: `${2 * EACH} processes`, problems }
}
