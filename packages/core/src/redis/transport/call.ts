// One call of the driver: its arguments, its reply, and EVALSHA. What the script expects is said in
// driver.lua.

import type { Reading } from '../../algorithms/driver.js'
import { quote, StoreError } from '../../base/errors.js'
import type { LayerRequest } from '../../layers/layer.js'
import { storeFailure } from '../../layers/resilience/failures.js'
import type { PolicySet } from '../../store.js'
import type { RedisLike } from '../client/client.js'
import { send } from '../client/send.js'
import { type KeyFormat, type KeyNames, keyNames, keysOf } from './keys.js'
import { unpackNumbers } from './reply.js'
import { type Script, scriptOf } from './script.js'

type Mode = LayerRequest['mode']

/** What is the same for all calls of a policy set. */
export interface PreparedScript {
  readonly policySet: PolicySet
  readonly script: Script
  readonly names: KeyNames
  readonly policyNumbers: readonly string[]
  /** For the readings of one request after the other: what would be thrown away at once needs no
   *  objects of its own. */
  readonly readings: readonly Reading[]
}

export function prepareScript(format: KeyFormat, policySet: PolicySet): PreparedScript {
  return {
    policySet,
    script: scriptOf(policySet),
    names: keyNames(format, policySet),
    policyNumbers: policySet.policies.flatMap(({ numbers }) => numbers.map(String)),
    readings: policySet.policies.map(() => ({ left: 0, waitMs: 0, resetUs: 0 })),
  }
}

/** Equal requests that are decided as one: `count` of them. */
export interface CountedRequest {
  readonly request: Omit<LayerRequest, 'mode' | 'count'>
  readonly count: number
}

/** What the driver says of the requests of a call: see `grantedAt`. */
export interface Reply {
  readonly nowUs: number
  readonly numbers: readonly number[]
  readonly call: readonly string[]
  /** Keys of each request. */
  readonly stride: number
}

/** Decides requests of one policy set and mode, in order, in one call of the driver. */
export async function callScript(
  client: RedisLike,
  prepared: PreparedScript,
  mode: Mode,
  requests: readonly CountedRequest[],
  nowUs: number | undefined,
): Promise<Reply> {
  const { script, policyNumbers, names } = prepared
  const call = [script.sha, '']
  // Modes that forget, or ask what was forgotten, have marks.
  const hasMarks = mode === 'refund' || mode === 'restore' || mode === 'reset'
  // Single requests of cost 1, which are the most, need no arguments of their own.
  let isPlain = mode !== 'refund' && mode !== 'reconcile' && mode !== 'restore'
  for (let i = 0; i < requests.length; i += 1) {
    const { request, count } = requests[i] as CountedRequest
    const first = call.length
    keysOf(names, request.target, call)
    for (let at = first, end = call.length; hasMarks && at < end; at += 1) {
      call.push(`${call[at]}:mark`)
    }
    const { costs } = request
    for (let j = 0; j < costs.length; j += 1) isPlain &&= count === 1 && costs[j] === 1
  }
  const stride = (call.length - CALL_HEAD) / requests.length
  call[1] = String(call.length - CALL_HEAD)
  call.push(nowUs === undefined ? '' : String(nowUs), mode)
  for (let i = 0; i < policyNumbers.length; i += 1) call.push(policyNumbers[i] as string)
  if (!isPlain) for (const each of requests) addArguments(mode, each, call)
  let packed: unknown
  try {
    packed = await send(client, 'evalsha', call)
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) {
      throw storeFailure(error, 'Redis')
    }
    // The server does not know the script, so nothing has run yet.
    packed = await evaluate(client, script, call)
  }
  const numbers = numbersOf(packed, 1 + requests.length * (1 + 3 * prepared.readings.length))
  return { nowUs: numbers[0] as number, numbers, call, stride }
}

/** A call begins with the name of its script and the number of its keys. */
const CALL_HEAD = 2

/**
 * @throws {StoreError} WEIR_STORE_FAILED if a proxy or another server has answered something else
 */
function numbersOf(packed: unknown, least: number): number[] {
  let numbers: number[]
  try {
    numbers = unpackNumbers(packed as Buffer)
  } catch (error) {
    throw storeFailure(error, 'Redis')
  }
  if (numbers.length < least) {
    throw storeFailure(new Error(`a reply of ${numbers.length} numbers`), 'Redis')
  }
  return numbers
}

function addArguments(mode: Mode, { request, count }: CountedRequest, call: string[]): void {
  const { costs, untilUs, seenUs } = request
  call.push(String(count))
  for (const cost of costs) call.push(String(cost))
  if (mode === 'refund' || mode === 'reconcile' || mode === 'restore') {
    for (let i = 0; i < costs.length; i += 1) call.push(String(untilUs?.[i] ?? ''))
  }
  if (mode === 'refund' || mode === 'restore') call.push(String(seenUs ?? ''))
}

/**
 * How many of the requests at a place were granted, or why they could not be decided. Their
 * readings, one for each policy, are written into `into`.
 */
export function grantedAt(
  { numbers, call, stride }: Reply,
  place: number,
  into: readonly Reading[],
): number | StoreError {
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

async function evaluate(
  client: RedisLike,
  { source }: Script,
  call: readonly string[],
): Promise<unknown> {
  try {
    return await send(client, 'eval', [source, ...call.slice(1)])
  } catch (error) {
    throw storeFailure(error, 'Redis')
  }
}
