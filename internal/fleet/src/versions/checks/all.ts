// All checks of two versions, one after another.

import type { Bench, Found } from '../bench.js'
import { isKnown } from '../differences.js'
import { checkConformance } from './conformance.js'
import { checkHeartbeat } from './heartbeat.js'
import { checkKernels, declaredNewCounters } from './kernels.js'
import { checkLive } from './live.js'
import { checkNames } from './names.js'
import { checkWaiting } from './waiting.js'
import { checkWalks, type WalkOptions } from './walks.js'

export type Check = readonly [name: string, run: () => Promise<Found>]

/** @param commit of the earlier version */
export function checksOf(
  bench: Bench,
  commit: string,
  options: Pick<WalkOptions, 'steps' | 'seed'>,
): readonly Check[] {
  const { seed } = options
  const isKnownOf = (problem: string) => isKnown(commit, 'walks', problem)
  return [
    ['kernels', async () => checkKernels(bench, declaredNewCounters())],
    ['names of keys', () => checkNames(bench)],
    ['walks', () => checkWalks(bench, { ...options, isKnown: isKnownOf })],
    ['conformance', () => checkConformance(bench, seed)],
    ['live policies', () => checkLive(bench, seed)],
    ['waiting', () => checkWaiting(bench)],
    ['heartbeat', () => checkHeartbeat(bench)],
  ]
}
