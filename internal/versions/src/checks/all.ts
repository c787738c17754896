// All checks of two versions, one after the other.

import type { Bench, Found } from '../bench.js'
import { checkConformance } from './conformance.js'
import { checkHeartbeat } from './heartbeat.js'
import { checkKernels, declaredNewCounters } from './kernels.js'
import { checkLive } from './live.js'
import { checkNames } from './names.js'
import { checkWaiting } from './waiting.js'
import { checkWalks, type WalkOptions } from './walks.js'

export type Check = readonly [name: string, run: () => Promise<Found>]

export function checksOf(bench: Bench, options: WalkOptions): readonly Check[] {
  const { seed } = options
  return [
    ['kernels', async () => checkKernels(bench, declaredNewCounters())],
    ['names of keys', () => checkNames(bench)],
    ['walks', () => checkWalks(bench, options)],
    ['conformance', () => checkConformance(bench, seed)],
    ['live policies', () => checkLive(bench, seed)],
    ['waiting', () => checkWaiting(bench)],
    ['heartbeat', () => checkHeartbeat(bench)],
  ]
}
