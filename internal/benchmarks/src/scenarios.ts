// All scenarios, in the order of the report.

import type { Scenario } from './scenario.js'
import { alone } from './scenarios/alone.js'
import { cluster } from './scenarios/cluster.js'
import { distinctKeysLoad, hotKeyLoad, leasesLoad } from './scenarios/load.js'
import { memoryChurn, memoryExpiry, memoryManyKeys, memoryOneKey } from './scenarios/memory.js'
import { middlewareAlone } from './scenarios/middleware.js'
import { redisBytes } from './scenarios/redis-bytes.js'
import { refused } from './scenarios/refused.js'
import { scriptTimes } from './scenarios/script-time.js'

export const scenarios: readonly Scenario[] = [
  ...[distinctKeysLoad, hotKeyLoad, alone, refused, cluster],
  ...[scriptTimes, redisBytes, leasesLoad],
  ...[memoryOneKey, memoryManyKeys, memoryExpiry, memoryChurn],
  ...[middlewareAlone],
]
