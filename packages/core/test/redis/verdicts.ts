// A call of the driver and all that it says, as values: what the store itself reads one group at a time.

import type { StoreError } from '../../src/errors.js'
import type { Reading } from '../../src/kernels/driver.js'
import { decideGroups, grantedAt } from '../../src/stores/redis-call.js'

export type Verdict = { readonly granted: number; readonly readings: readonly Reading[] } | StoreError

export async function verdictsOf(
  ...args: Parameters<typeof decideGroups>
): Promise<{ nowUs: number; verdicts: readonly Verdict[] }> {
  const reply = await decideGroups(...args)
  const [, line, , groups] = args
  const verdicts = groups.map((_, place): Verdict => {
    const readings = line.readings.map((each) => ({ ...each }))
    const granted = grantedAt(reply, place, readings)
    return typeof granted === 'number' ? { granted, readings } : granted
  })
  return { nowUs: reply.nowUs, verdicts }
}
