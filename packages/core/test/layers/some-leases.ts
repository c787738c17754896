// A process that leases units of a hot key, in virtual time. docs/images/leases.svg is drawn from
// it.

import { tokenBucket } from '../../src/index.js'
import type { Layer } from '../../src/layer.js'
import { Leases } from '../../src/layers/leases/leases.js'
import { makePolicySet } from '../../src/request.js'
import type { StoreRequest } from '../../src/store.js'
import { virtualTime } from '../virtual-time.js'
import { consuming, memoryIn } from './requests.js'

export const END_MS = 1_500
export const HOLD_MS = 200
const ROUND_TRIP_MS = 1

export interface LeaseRun {
  /** When the store was asked, and for how many units. */
  readonly calls: readonly { readonly atMs: number; readonly units: number }[]
  /** The units in hand, each time that they changed. */
  readonly held: readonly { readonly atMs: number; readonly units: number }[]
  readonly decisions: number
}

/** A request each millisecond, for one unit of one key. */
export async function someLeases(): Promise<LeaseRun> {
  const time = virtualTime()
  const memory = memoryIn(time)
  const calls: { atMs: number; units: number }[] = []
  const held: { atMs: number; units: number }[] = []
  let inHand = 0
  let decisions = 0
  const note = (units: number): void => {
    inHand += units
    held.push({ atMs: time.nowMs(), units: inHand })
  }
  const next: Layer = {
    ask(request, pending) {
      const { mode, count = 1 } = request
      calls.push({ atMs: time.nowMs(), units: mode === 'consume' ? count : 0 })
      if (mode === 'cancel') note(-inHand)
      time.after(ROUND_TRIP_MS, () => {
        const result = memory.decide(request as StoreRequest)
        if (mode === 'consume') note(result.granted)
        pending.decided(result)
      })
    },
  }
  const leases = new Leases(next, {
    units: 1_000,
    holdMs: HOLD_MS,
    deadlineMs: 100,
    denialsLast: true,
    time,
    clock: undefined,
  })
  const policy = tokenBucket({ capacity: 10_000, refill: 1_000, every: '1s' })
  const request = consuming(makePolicySet('ingest', [policy]), 'everybody')
  const ask = (): void => {
    time.after(1, ask)
    leases.ask(request, {
      decided({ granted }) {
        decisions += 1
        if (granted > 0) note(-granted)
      },
      failed(error) {
        throw error
      },
    })
  }
  time.after(1, ask)
  await time.advance(END_MS)
  const run = { calls: [...calls], held: [...held], decisions }
  leases.close()
  return run
}
