// What the tests of this package share: a Redis, and versions on it.

import { type RedisServer, startRedis } from '@weir/testkit'
import { afterAll } from 'vitest'
import { benchOn, type OpenBench } from '../../src/versions/bench.js'
import { presentFolder, type Version, versionIn } from '../../src/versions/version.js'

const server: RedisServer = await startRedis()
const benches: OpenBench[] = []

export const present: Version = await versionIn(presentFolder, 'present')

export function benchOf(earlier: Version): OpenBench {
  const bench = benchOn(server, [earlier, present])
  benches.push(bench)
  return bench
}

afterAll(async () => {
  for (const bench of benches) bench.close()
  await server.stop()
})
