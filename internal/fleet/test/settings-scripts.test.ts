// The scripts of settings on the simulated server must pass the cases of the conformance suite,
// which packages/core runs on real servers.

import { test } from 'vitest'
import { processTime } from '../../../packages/core/src/base/time.js'
import type { Connection } from '../../../packages/core/src/redis/connection.js'
import { checkedRedisOptions } from '../../../packages/core/src/redis/options.js'
import { redisSettings } from '../../../packages/core/src/redis/settings.js'
import { Watched } from '../../../packages/core/src/redis/watched.js'
import { SETTINGS_CASES } from '../../../packages/core/src/testing/cases/settings.js'
import { fakeClock } from '../../../packages/core/src/testing/clock.js'
import { SimulatedRedis } from '../src/redis/server.js'

function connectionTo(redis: SimulatedRedis): Connection {
  return {
    attempt: () => undefined,
    unready: () => undefined,
    call: async (command: string, args: readonly string[]) => redis.run(command, args),
  } as unknown as Connection
}

/** The simulated server does not keep reports. */
const CASES = SETTINGS_CASES.filter(([name]) => !name.includes('a report of a process'))

test.each(CASES)('as on a real server, %s', async (_, check) => {
  const clock = fakeClock()
  const redis = new SimulatedRedis(() => Date.now() * 1_000)
  const { format, deadlineMs } = checkedRedisOptions({})
  const watched = new Watched(processTime)
  const options = { format, deadlineMs, clock, time: processTime, watched }
  await check(redisSettings(connectionTo(redis), options), 'plans', clock)
})
