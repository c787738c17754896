// The servers that the run started for this worker, which one file at a time uses.

import type { ProvidedRedis } from '@weir/testkit/vitest'
import { inject } from 'vitest'

export function workerRedis(): ProvidedRedis {
  return inject('redis')[Number(process.env.VITEST_POOL_ID) - 1] as ProvidedRedis
}
