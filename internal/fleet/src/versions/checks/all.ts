// All checks of two versions, one after another.

import type { Bench, Found } from '../bench.js'
import { checkConformance } from './conformance.js'
import { checkHeartbeat } from './heartbeat.js'
import { checkKernels, declaredNewCounters } from './kernels.js'
import { checkNames } from './names.js'

export type Check = readonly [name: string, run: () => Promise<Found>]

export function checksOf(bench: Bench, seed: number): Check[] {
  return [
    ['kernels', async () => checkKernels(bench, declaredNewCounters())],
    ['names of keys', () => checkNames(bench)],
    ['conformance', () => checkConformance(bench, seed)],
    ['heartbeat', () => checkHeartbeat(bench)],
  ]
}
