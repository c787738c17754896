// The warning of a lasting outage, in virtual time.

import { afterEach, beforeEach, expect, type MockInstance, test, vi } from 'vitest'
import { fixedWindow } from '../../../src/index.js'
import { DEGRADED_MS } from '../../../src/layers/resilience/events.js'
import { resilientIn } from '../../../src/layers/resilience/resilient.js'
import { makePolicySet } from '../../../src/request.js'
import { virtualTime } from '../../virtual-time.js'
import { consuming, memoryIn } from '../requests.js'

let warned: MockInstance
beforeEach(() => {
  warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => warned.mockRestore())

function warnings(): string[] {
  return warned.mock.calls.map(([text]) => text as string)
}

/** A store that fails with an error, while there is one. */
function worldOf() {
  const time = virtualTime()
  const memory = memoryIn(time)
  const world = { time, error: undefined as Error | undefined }
  const store = resilientIn(
    time,
    {
      recovers: true,
      async decide(request) {
        if (world.error !== undefined) throw world.error
        return memory.decide(request)
      },
      async reset() {},
    },
    {},
  )
  const policySet = makePolicySet('p', [fixedWindow({ limit: 1_000, window: '1h' })])
  /** Sends requests until the breaker is in this state. */
  const until = async (state: string): Promise<void> => {
    for (let i = 0; store.health().nodes[0]?.state !== state; i += 1) {
      if (i > 1_000) throw new Error(`the breaker is not ${state}`)
      await time.settle(Promise.resolve(store.decide(consuming(policySet, 'k'))))
      await time.advance(20)
    }
  }
  return Object.assign(world, { until })
}

test('a store that is back sooner causes no warning', async () => {
  const world = worldOf()
  world.error = new Error('Connection is closed.')
  await world.until('open')
  await world.time.advance(DEGRADED_MS - 1_000)
  world.error = undefined
  await world.until('closed')
  await world.time.advance(2 * DEGRADED_MS)
  expect(warnings()).toEqual([])
})

test('another kind of cause is another warning, the same one is not', async () => {
  const world = worldOf()
  for (let outage = 0; outage < 2; outage += 1) {
    world.error = new Error("OOM command not allowed when used memory > 'maxmemory'.")
    await world.until('open')
    await world.time.advance(2 * DEGRADED_MS)
    world.error = undefined
    await world.until('closed')
  }
  expect(warnings()).toEqual([expect.stringContaining('OOM command not allowed')])
  world.error = new Error('connect ECONNREFUSED')
  await world.until('open')
  await world.time.advance(2 * DEGRADED_MS)
  expect(warnings()).toEqual([expect.stringContaining('OOM'), expect.not.stringContaining('OOM')])
})
