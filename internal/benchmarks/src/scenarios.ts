// All scenarios, in the order of the report.

import type { Scenario } from './scenario.js'
import { alone } from './scenarios/alone.js'
import { distinctKeysLoad, hotKeyLoad } from './scenarios/load.js'
import { memoryManyKeys, memoryOneKey } from './scenarios/memory.js'
import { middlewareAlone } from './scenarios/middleware.js'
import { redisBytes } from './scenarios/redis-bytes.js'

export const scenarios: readonly Scenario[] = [
  ...[distinctKeysLoad, hotKeyLoad, alone, redisBytes],
  ...[memoryOneKey, memoryManyKeys, middlewareAlone],
]
