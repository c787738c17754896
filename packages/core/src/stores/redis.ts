// The Redis store: the Lua kernels, many decisions a call.

import { type Clock, checkedClock } from '../clock.js'
import { quote, rangeError, type StoreError, typeError } from '../errors.js'
import type { Answer, Group, Plan, Store, Subject } from '../store.js'
import { Batches } from './batches.js'
import { type Line, lineFor, type RedisLike, resetSubject } from './redis-call.js'

export interface RedisStoreOptions {
  /** The first part of every key. Letters, digits, '_', '.', ':' and '-', at most 64. Default `'weir'`. */
  readonly prefix?: string
  /** Time, for tests and simulations. Default: the clock of the Redis server, which all processes share. */
  readonly clock?: Clock
}

/**
 * Keeps counters in Redis (6.2 or newer, or Valkey), so that limits hold across processes. A decision is one atomic
 * script on the server's own clock; the client stays yours to close.
 * @throws {TypeError | RangeError} WEIR_INVALID_OPTION, WEIR_INVALID_CLOCK
 * @example redisStore(new Redis(process.env.REDIS_URL))
 */
export function redisStore(client: RedisLike, options: RedisStoreOptions = {}): Store {
  const { prefix = 'weir' } = options
  const clock = options.clock === undefined ? undefined : checkedClock(options.clock)
  checkClient(client)
  if (typeof prefix !== 'string' || !/^[A-Za-z0-9_.:-]{1,64}$/.test(prefix)) {
    const right = "give 1 to 64 letters, digits, '_', '.', ':' or '-'"
    throw rangeError('WEIR_INVALID_OPTION', `prefix is ${quote(prefix)}; ${right}`)
  }
  const lines = new WeakMap<Plan, Line>()
  const batches = new Batches(client)

  function lineOf(plan: Plan): Line {
    let line = lines.get(plan)
    if (line === undefined) {
      line = lineFor(prefix, plan)
      lines.set(plan, line)
    }
    return line
  }

  return {
    decide(group: Group): Promise<Answer> {
      return new Promise((answered: (answer: Answer) => void, failed: (error: StoreError) => void) => {
        batches.ask(lineOf(group.plan), group, clock?.nowUs(), { answered, failed })
      })
    },
    async reset(subject: Subject): Promise<void> {
      await resetSubject(client, lineOf(subject.plan), subject, clock?.nowUs())
    },
  }
}

function checkClient(client: RedisLike): void {
  if (typeof client?.callBuffer !== 'function') {
    throw typeError(
      'WEIR_INVALID_OPTION',
      `client is ${quote(client)}; give an ioredis client, Redis or Cluster`,
    )
  }
  const { keyPrefix } = (client.options ?? {}) as { keyPrefix?: unknown }
  if (typeof keyPrefix === 'string' && /[{}]/.test(keyPrefix)) {
    const why = 'it must not have braces, which move all keys to one slot'
    throw rangeError('WEIR_INVALID_OPTION', `the client's keyPrefix is ${quote(keyPrefix)}; ${why}`)
  }
}

// TEMPORARY
export { type CountedGroup, decideGroups, type Line, type RedisLike, type Verdict } from './redis-call.js'
