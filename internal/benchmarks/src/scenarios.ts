// All scenarios, in the order of the report.

import type { Scenario } from './scenario.js'
import { alone } from './scenarios/alone.js'
import { fastify } from './scenarios/fastify.js'
import { hono } from './scenarios/hono.js'
import { distinctKeysLoad, hotKeyLoad } from './scenarios/load.js'
import { memoryManyKeys, memoryOneKey } from './scenarios/memory.js'
import { middlewareAlone } from './scenarios/middleware.js'
import { redisBytes } from './scenarios/redis-bytes.js'
import { refused } from './scenarios/refused.js'

export const scenarios: readonly Scenario[] = [
  ...[distinctKeysLoad, hotKeyLoad, alone, refused],
  ...[redisBytes, memoryOneKey, memoryManyKeys, middlewareAlone, fastify, hono],
]
