// The classes of rate-limiter-flexible that are missing here: their constructors say so.

import { misuse } from '../checked.js'

export type Elsewhere = new (...given: never[]) => never

const DATABASE = 'give RateLimiterRedis a store of your own'
const ON_REDIS = 'RateLimiterRedis takes clients of ioredis, iovalkey and node-redis'
const PROCESSES = 'RateLimiterRedis counts over processes'

export const RateLimiterRedisNonAtomic: Elsewhere = missing('RateLimiterRedisNonAtomic', ON_REDIS)
export const RateLimiterValkey: Elsewhere = missing('RateLimiterValkey', ON_REDIS)
export const RateLimiterValkeyGlide: Elsewhere = missing('RateLimiterValkeyGlide', ON_REDIS)
export const RateLimiterCluster: Elsewhere = missing('RateLimiterCluster', PROCESSES)
export const RateLimiterClusterMaster: Elsewhere = missing('RateLimiterClusterMaster', PROCESSES)
export const RateLimiterClusterMasterPM2: Elsewhere = missing(
  'RateLimiterClusterMasterPM2',
  PROCESSES,
)
export const RLWrapperTimeouts: Elsewhere = missing(
  'RLWrapperTimeouts',
  'a RateLimiterRedis decides in time by itself',
)
export const RateLimiterMongo: Elsewhere = missing('RateLimiterMongo', DATABASE)
export const RateLimiterMySQL: Elsewhere = missing('RateLimiterMySQL', DATABASE)
export const RateLimiterPostgres: Elsewhere = missing('RateLimiterPostgres', DATABASE)
export const RateLimiterSQLite: Elsewhere = missing('RateLimiterSQLite', DATABASE)
export const RateLimiterMemcache: Elsewhere = missing('RateLimiterMemcache', DATABASE)
export const RateLimiterDynamo: Elsewhere = missing('RateLimiterDynamo', DATABASE)
export const RateLimiterPrisma: Elsewhere = missing('RateLimiterPrisma', DATABASE)
export const RateLimiterDrizzle: Elsewhere = missing('RateLimiterDrizzle', DATABASE)
export const RateLimiterDrizzleNonAtomic: Elsewhere = missing(
  'RateLimiterDrizzleNonAtomic',
  DATABASE,
)
export const RateLimiterEtcd: Elsewhere = missing('RateLimiterEtcd', DATABASE)
export const RateLimiterEtcdNonAtomic: Elsewhere = missing('RateLimiterEtcdNonAtomic', DATABASE)
export const RateLimiterEtcdTransactionFailedError: Elsewhere = missing(
  'RateLimiterEtcdTransactionFailedError',
  DATABASE,
)

function missing(name: string, right: string): Elsewhere {
  return class {
    constructor() {
      throw misuse(`${name} is not supported here; ${right}`)
    }
  } as unknown as Elsewhere
}
