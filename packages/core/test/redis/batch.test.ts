// Every golden trace as calls of 64 groups: copies of the traced key, other keys at other costs,
// and one corrupt key.

import { expect, test } from 'vitest'
import { StoreError } from '../../src/base/errors.js'
import { prepareScript } from '../../src/redis/transport/call.js'
import { keyFormat, keysOf } from '../../src/redis/transport/keys.js'
import { resultOf } from '../../src/request.js'
import { fakeClock } from '../../src/testing/clock.js'
import { parseTrace, type TraceStep, textOf } from '../../src/testing/trace.js'
import { traces } from '../../src/testing/traces.generated.js'
import { newName, singleClient } from './clients.js'
import { type Counted, verdictsOf } from './verdicts.js'

const COPIES = 32
const GROUPS = 64
const CORRUPT = 40

function groupsOf(
  { policySet, section, cost, charged: of }: TraceStep,
  untilUs: number[] | undefined,
  run: string,
): Counted[] {
  return Array.from({ length: GROUPS }, (_, i) => {
    const charged = of === undefined ? undefined : [of]
    const traced = { policySet, costs: [cost], charged, untilUs, count: 1 }
    if (i < COPIES) return { ...traced, key: `${run}-${section}-${i}` }
    if (i === CORRUPT) return { ...traced, key: `${run}-corrupt` }
    return { ...traced, key: `${run}-other-${i % 7}`, costs: [i % 5], count: 1 + (i % 3) }
  })
}

async function replayInBatches(text: string, run: string): Promise<void> {
  const client = singleClient()
  const clock = fakeClock()
  const startUs = clock.nowUs()
  for (const step of parseTrace(text)) {
    const { policySet, mode, untilMs } = step
    const line = prepareScript(keyFormat('weir'), policySet)
    const untilUs = untilMs === undefined ? undefined : [startUs + untilMs * 1_000]
    const lossUs = mode === 'restore' ? startUs + step.atMs * 1_000 : undefined
    const groups = groupsOf(step, untilUs, run).map((group) => ({
      ...group,
      seenUs: lossUs,
      lossUs,
    }))
    const corrupt = keysOf(line.names, groups[CORRUPT] as Counted, [])[0] as string
    await client.set(corrupt, 'not ours', 'PX', 600_000)
    const { nowUs, verdicts } = await verdictsOf(
      client,
      line,
      mode,
      groups,
      startUs + step.atMs * 1_000,
    )
    for (const verdict of verdicts.slice(0, COPIES)) {
      if (verdict instanceof StoreError) throw verdict
      const { policySet, key, costs } = groups[0] as Counted
      const request = { mode: 'peek', target: { policySet, key }, costs } as const
      expect(
        `${step.line}: ${textOf(resultOf(request, verdict.granted, nowUs, verdict.readings))}`,
      ).toBe(`${step.line}: ${step.expected}`)
    }
    expect(verdicts.filter((verdict) => verdict instanceof StoreError)).toEqual([verdicts[CORRUPT]])
    expect(verdicts[CORRUPT]).toMatchObject({
      code: 'WEIR_FOREIGN_KEY',
      message: expect.stringContaining('corrupt'),
    })
    expect(await client.get(corrupt)).toBe('not ours')
  }
}

test.each(Object.entries(traces))('%s', async (name, text) => {
  await replayInBatches(text, newName(name))
})
