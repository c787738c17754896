// One call of the driver: its arguments, its reply, and EVALSHA. What the script expects is said in driver.lua.

import type { Mode, Reading } from '../../algorithms/driver.js'
import { quote, StoreError } from '../../base/errors.js'
import { storeFailure } from '../../layers/resilience/failures.js'
import type { PolicySet, StoreRequest, Target } from '../../store.js'
import { send } from '../client/send.js'
import { type KeyFormat, type KeyNames, keyNames, keysOf } from './keys.js'
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
  /** `'ready'` when commands can be sent; a client without it is taken to be ready. */
  readonly status?: string
  /** Called once if the status is `'wait'`, as a lazy client's is. */
  connect?(): Promise<unknown>
  /** For `'ready'`, `'close'` and `'end'`: without it and `off`, the first connection is not waited for. */
  on?(event: string, listener: () => void): unknown
  off?(event: string, listener: () => void): unknown
  readonly isCluster?: boolean
  /** Of a Cluster: the nodes of each slot, the master first. */
  readonly slots?: readonly (readonly string[] | undefined)[]
  /** Of ioredis: a command that its auto pipelining leaves alone. Required if `options.enableAutoPipelining` is true. */
  createBuiltinCommand?(command: string): { buffer(...args: unknown[]): Promise<unknown> }
}

/** What is the same for all calls of a policy set. */
export interface Line {
  readonly policySet: PolicySet
  readonly script: Script
  readonly names: KeyNames
  readonly policyNumbers: readonly string[]
  /** For the figures of one request after the other: what would be thrown away at once needs no objects of its own. */
  readonly readings: readonly Reading[]
}

export function lineFor(format: KeyFormat, policySet: PolicySet): Line {
  const policyNumbers = policySet.policies.flatMap(({ numbers }) => numbers.map(String))
  const readings = policySet.policies.map(() => ({ left: 0, waitMs: 0, resetUs: 0 }))
  return {
    policySet,
    script: scriptOf(policySet),
    names: keyNames(format, policySet),
    policyNumbers,
    readings,
  }
}

/** Equal requests that are decided as one. */
export interface CountedGroup {
  readonly group: Omit<StoreRequest, 'mode'>
  readonly count: number
}

/** What the driver says of the groups of a call: see `grantedAt`. */
export interface Reply {
  readonly nowUs: number
  readonly numbers: readonly number[]
  readonly call: readonly string[]
  /** Keys of each group. */
  readonly stride: number
}

/** Decides groups of one policy set and mode, in order, in one call of the driver. */
export async function decideGroups(
  client: RedisLike,
  line: Line,
  mode: Mode,
  groups: readonly CountedGroup[],
  nowUs: number | undefined,
): Promise<Reply> {
  const call = openCall(line)
  for (let i = 0; i < groups.length; i += 1)
    addKeys(line, mode, (groups[i] as CountedGroup).group, call)
  const stride = (call.length - CALL_HEAD) / groups.length
  closeCall(line, mode, nowUs, call)
  if (!isPlain(mode, groups)) for (const group of groups) addArguments(mode, group, call)
  const packed = await evaluate(client, line, call)
  const numbers = numbersOf(packed, 1 + groups.length * (1 + 3 * line.policySet.policies.length))
  return { nowUs: numbers[0] as number, numbers, call, stride }
}

/** Before the keys of a call stand what it names its script by, and how many keys there are. */
const CALL_HEAD = 2

function openCall({ script }: Line): string[] {
  return [script.sha, '']
}

/** Adds what follows the keys. */
function closeCall(
  { policyNumbers }: Line,
  mode: Mode | 'reset',
  nowUs: number | undefined,
  call: string[],
): void {
  call[1] = String(call.length - CALL_HEAD)
  call.push(nowUs === undefined ? '' : String(nowUs), mode)
  for (let i = 0; i < policyNumbers.length; i += 1) call.push(policyNumbers[i] as string)
}

/** @throws {StoreError} WEIR_STORE_FAILED if a proxy or another server has answered something else */
function numbersOf(packed: unknown, least: number): number[] {
  let numbers: number[]
  try {
    numbers = unpackNumbers(packed as Buffer)
  } catch (error) {
    throw storeFailure(error)
  }
  if (numbers.length < least) throw storeFailure(new Error(`a reply of ${numbers.length} numbers`))
  return numbers
}

/** A key for each policy; in modes that forget, or ask what was forgotten, then a mark for each. */
function addKeys(line: Line, mode: Mode | 'reset', target: Target, call: string[]): void {
  const first = call.length
  keysOf(line.names, target, call)
  if (mode === 'refund' || mode === 'restore' || mode === 'reset') {
    for (let i = first, end = call.length; i < end; i += 1) call.push(`${call[i]}:mark`)
  }
}

/**
 * Forgets the counters of a target.
 * @throws {StoreError} WEIR_FOREIGN_KEY if one of them is not ours; then none is forgotten
 */
export async function resetTarget(
  client: RedisLike,
  line: Line,
  target: Target,
  nowUs: number | undefined,
): Promise<void> {
  const call = openCall(line)
  addKeys(line, 'reset', target, call)
  closeCall(line, 'reset', nowUs, call)
  const granted = numbersOf(await evaluate(client, line, call), 2)[1] as number
  if (granted < 0) throw foreignKey(call[CALL_HEAD - granted - 1] as string)
}

/** Single requests of cost 1, which are the most, need no arguments of their own. */
function isPlain(mode: Mode, groups: readonly CountedGroup[]): boolean {
  if (mode === 'refund' || mode === 'reconcile' || mode === 'restore') return false
  for (let place = 0; place < groups.length; place += 1) {
    const { count, group } = groups[place] as CountedGroup
    if (count !== 1 || !areOne(group.costs)) return false
  }
  return true
}

export function areOne(costs: readonly number[]): boolean {
  for (let i = 0; i < costs.length; i += 1) if (costs[i] !== 1) return false
  return true
}

function addArguments(mode: Mode, { group, count }: CountedGroup, args: string[]): void {
  const { costs, untilUs, seenUs } = group
  args.push(String(count))
  for (const cost of costs) args.push(String(cost))
  if (mode === 'refund' || mode === 'reconcile' || mode === 'restore') {
    for (let i = 0; i < costs.length; i += 1) args.push(String(untilUs?.[i] ?? ''))
  }
  if (mode === 'refund' || mode === 'restore') args.push(String(seenUs ?? ''))
}

/**
 * How many requests of the group at a place were granted, or why it could not be decided. Its readings, one for each policy,
 * are written into `into`.
 */
export function grantedAt(
  reply: Reply,
  place: number,
  into: readonly Reading[],
): number | StoreError {
  const { numbers, call, stride } = reply
  let at = 1 + place * (1 + 3 * into.length)
  const granted = numbers[at] as number
  if (granted < 0) return foreignKey(call[CALL_HEAD + place * stride - granted - 1] as string)
  for (let i = 0; i < into.length; i += 1, at += 3) {
    const reading = into[i] as Reading
    reading.left = numbers[at + 1] as number
    reading.waitMs = numbers[at + 2] as number
    reading.resetUs = numbers[at + 3] as number
  }
  return granted
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
  { script }: Line,
  call: readonly string[],
): Promise<unknown> {
  try {
    return await send(client, 'evalsha', call as string[])
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT'))
      throw storeFailure(error)
  }
  try {
    return await send(client, 'eval', [script.source, ...call.slice(1)])
  } catch (error) {
    throw storeFailure(error)
  }
}
