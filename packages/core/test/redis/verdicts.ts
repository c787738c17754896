// A call of the driver and all that it says, as values: what the store itself reads one group at a time.

import type { Mode, Reading } from '../../src/algorithms/driver.js'
import type { StoreError } from '../../src/base/errors.js'
import {
  type CountedGroup,
  decideGroups,
  grantedAt,
  type Line,
  type RedisLike,
} from '../../src/redis/transport/script-call.js'

/** A group and how often it is asked for, in one. */
export type Counted = CountedGroup['group'] & Pick<CountedGroup, 'count'>

export type Verdict =
  | { readonly granted: number; readonly readings: readonly Reading[] }
  | StoreError

export async function verdictsOf(
  client: RedisLike,
  line: Line,
  mode: Mode,
  counted: readonly Counted[],
  atUs: number | undefined,
): Promise<{ nowUs: number; verdicts: readonly Verdict[] }> {
  const groups = counted.map((group) => ({ group, count: group.count }))
  const reply = await decideGroups(client, line, mode, groups, atUs)
  const verdicts = groups.map((_, place): Verdict => {
    const readings = line.readings.map((each) => ({ ...each }))
    const granted = grantedAt(reply, place, readings)
    return typeof granted === 'number' ? { granted, readings } : granted
  })
  return { nowUs: reply.nowUs, verdicts }
}
