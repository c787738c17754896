// The Redis store: the Lua kernels, one EVALSHA a decision.

import { type Clock, checkedClock } from '../clock.js'
import { quote, rangeError, StoreError, typeError } from '../errors.js'
import type { Mode, Reading } from '../kernels/driver.js'
import { type Answer, answerOf, type Group, type Plan, type Store, type Subject } from '../store.js'
import { type KeyNames, keyNames, keysOf } from './keys.js'
import { unpackNumbers } from './reply.js'
import { type Script, scriptOf } from './script.js'

/**
 * What Weir needs of a Redis client: ioredis 5 and 6 have it, `Redis` (with or without Sentinel) and `Cluster`. Another
 * client can be wrapped into it.
 */
export interface RedisLike {
  /** Sends a command as it is and resolves to the reply, a bulk string as a Buffer. */
  callBuffer(command: string, args: string[]): Promise<unknown>
  readonly options?: object
}

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

  function lineOf(plan: Plan): Line {
    let line = lines.get(plan)
    if (line === undefined) {
      line = { plan, script: scriptOf(plan), names: keyNames(prefix, plan) }
      lines.set(plan, line)
    }
    return line
  }

  return {
    async decide(group: Group): Promise<Answer> {
      const line = lineOf(group.plan)
      const { nowUs, verdicts } = await decideGroups(
        client,
        line,
        group.mode,
        [{ ...group, count: 1 }],
        clock?.nowUs(),
      )
      const [verdict] = verdicts as [Verdict]
      if (verdict instanceof StoreError) throw verdict
      return answerOf(group, verdict.granted > 0, nowUs, verdict.readings)
    },
    async reset(subject: Subject): Promise<void> {
      const line = lineOf(subject.plan)
      await evaluate(client, line.script, keysOf(line.names, subject), [clockText(clock?.nowUs()), 'reset'])
    },
  }
}

/** What is the same for all calls of a plan. */
export interface Line {
  readonly plan: Plan
  readonly script: Script
  readonly names: KeyNames
}

/** Equal requests that are decided as one. */
export interface CountedGroup extends Subject {
  readonly costs: readonly number[]
  readonly untilUs?: readonly number[] | undefined
  readonly count: number
}

/** What the driver says of a group; or why it could not decide it. */
export type Verdict = { readonly granted: number; readonly readings: readonly Reading[] } | StoreError

/** Decides groups of one plan and mode, in order, in one call of the driver. */
export async function decideGroups(
  client: RedisLike,
  line: Line,
  mode: Mode,
  groups: readonly CountedGroup[],
  nowUs: number | undefined,
): Promise<{ nowUs: number; verdicts: readonly Verdict[] }> {
  const keys = groups.flatMap((group) => keysOf(line.names, group))
  const policyNumbers = line.plan.policies.flatMap(({ numbers }) => numbers.map(String))
  const args = [clockText(nowUs), mode, ...policyNumbers, ...groupArguments(mode, groups)]
  const packed = await evaluate(client, line.script, keys, args)
  return verdictsOf(unpackNumbers(packed as Buffer), groups, keys)
}

function clockText(nowUs: number | undefined): string {
  return nowUs === undefined ? '' : String(nowUs)
}

/** Nothing for single requests of cost 1, which are the most; else count, costs and, to refund, ends. See driver.lua. */
function groupArguments(mode: Mode, groups: readonly CountedGroup[]): string[] {
  const plain =
    mode !== 'refund' && groups.every(({ count, costs }) => count === 1 && costs.every((cost) => cost === 1))
  if (plain) return []
  return groups.flatMap(({ count, costs, untilUs }) => {
    const ends = mode === 'refund' ? costs.map((_, i) => String(untilUs?.[i] ?? '')) : []
    return [String(count), ...costs.map(String), ...ends]
  })
}

function verdictsOf(
  numbers: readonly number[],
  groups: readonly CountedGroup[],
  keys: readonly string[],
): { nowUs: number; verdicts: readonly Verdict[] } {
  let at = 0
  const next = () => numbers[at++] as number
  const nowUs = next()
  const verdicts = groups.map(({ costs }, place) => {
    const granted = next()
    const readings = costs.map(() => ({ left: next(), waitMs: next(), resetUs: next() }))
    return granted < 0
      ? foreignKey(keys[place * costs.length - granted - 1] as string)
      : { granted, readings }
  })
  return { nowUs, verdicts }
}

function foreignKey(key: string): StoreError {
  return new StoreError(
    'WEIR_FOREIGN_KEY',
    `the key ${quote(key)} holds something that Weir did not write; it is left as it is`,
  )
}

/** EVALSHA; and EVAL only if the server does not know the script, in which case nothing has run yet. */
async function evaluate(
  client: RedisLike,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...args]
  try {
    return await client.callBuffer('evalsha', [script.sha, ...rest])
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw failed(error)
  }
  try {
    return await client.callBuffer('eval', [script.source, ...rest])
  } catch (error) {
    throw failed(error)
  }
}

function failed(cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new StoreError('WEIR_STORE_FAILED', `Redis could not decide: ${quote(reason)}`, { cause })
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
    throw rangeError(
      'WEIR_INVALID_OPTION',
      `the client's keyPrefix is ${quote(keyPrefix)}; it must not have braces, which move keys to one slot`,
    )
  }
}
