// A call of the driver and its whole reply, as values: the store itself reads one group at a time.

import { resetUsOf } from '../../src/algorithms/block-code.js'
import type { Reading } from '../../src/algorithms/driver.js'
import type { Mode } from '../../src/algorithms/modes.js'
import { StoreError } from '../../src/base/errors.js'
import type { LayerRequest } from '../../src/layer.js'
import type { RedisLike } from '../../src/redis/clients/ioredis/redis-like.js'
import { ioredisConnection } from '../../src/redis/clients/ioredis.js'
import {
  answer,
  argumentsOf,
  type Call,
  callModeOf,
  numbersOf,
  type PreparedScript,
  withSource,
} from '../../src/redis/transport/call.js'
import type { StoreResult, Target } from '../../src/store.js'
import { CALM } from './patient.js'

/** A group, and how often it is requested. */
export type Counted = Target & Omit<LayerRequest, 'mode' | 'target'>

export type Verdict =
  | { readonly granted: number; readonly readings: readonly Reading[] }
  | StoreError

export async function verdictsOf(
  client: RedisLike,
  prepared: PreparedScript,
  mode: Mode | 'reset',
  counted: readonly Counted[],
  atUs: number | undefined,
): Promise<{ nowUs: number; verdicts: readonly Verdict[] }> {
  const verdicts = new Array<Verdict>(counted.length)
  const entries = counted.map(({ policySet, key, policyKeys, ...rest }, place) => {
    const decided = (result: StoreResult): void => {
      verdicts[place] = { granted: result.granted, readings: readingsOf(result) }
    }
    const failed = (error: unknown): void => {
      if (!(error instanceof StoreError)) throw error
      verdicts[place] = error
    }
    const request = { ...rest, mode, target: { policySet, key, policyKeys } } as LayerRequest
    return { request, first: { decided, failed }, others: [] }
  })
  const call: Call = {
    prepared,
    script: prepared.script,
    slot: 0,
    mode: callModeOf((entries[0] as (typeof entries)[0]).request),
    nowUs: atUs,
    entries,
    node: undefined,
    args: [],
    sentAtMs: 0,
  }
  const { call: send } = ioredisConnection(client, CALM)
  const args = argumentsOf(call)
  call.args = args
  const packed = await send('evalsha', args).catch((error: Error) => {
    if (!error.message.startsWith('NOSCRIPT')) throw error
    return send('eval', withSource(call))
  })
  const numbers = numbersOf(call, packed)
  answer(call, numbers)
  return { nowUs: numbers[0] as number, verdicts }
}

function readingsOf({ nowUs, untilUs, policies }: StoreResult): Reading[] {
  return policies.map(({ remaining, retryAfterMs, block }, i) => {
    const waitMs = retryAfterMs === Number.POSITIVE_INFINITY ? -1 : retryAfterMs
    const resetUs = (untilUs[i] as number) - nowUs
    if (block === undefined) return { left: remaining, waitMs, resetUs }
    // In the form of the kernel.
    const { level, isBlocked, hasBegun } = block
    const toldUs = resetUsOf(resetUs / 1_000, level, isBlocked, hasBegun)
    return { left: remaining, waitMs, resetUs: toldUs }
  })
}
