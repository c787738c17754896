// A call of the driver and all that it says, as values: what the store itself reads one group at a
// time.

import type { Mode, Reading } from '../../src/algorithms/driver.js'
import type { StoreError } from '../../src/base/errors.js'
import type { RedisLike } from '../../src/redis/client/client.js'
import {
  type CountedRequest,
  callScript,
  grantedAt,
  type PreparedScript,
} from '../../src/redis/transport/call.js'
import type { Target } from '../../src/store.js'

/** A group and how often it is asked for, in one. */
export type Counted = Target &
  Omit<CountedRequest['request'], 'target'> &
  Pick<CountedRequest, 'count'>

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
  const requests = counted.map(({ policySet, key, ownKeys, count, ...rest }) => {
    return { request: { ...rest, target: { policySet, key, ownKeys } }, count }
  })
  const reply = await callScript(client, prepared, mode, requests, atUs)
  const verdicts = requests.map((_, place): Verdict => {
    const readings = prepared.readings.map((each) => ({ ...each }))
    const granted = grantedAt(reply, place, readings)
    return typeof granted === 'number' ? { granted, readings } : granted
  })
  return { nowUs: reply.nowUs, verdicts }
}
